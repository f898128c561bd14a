// SPDX-License-Identifier: Apache-2.0
// TokenSigner: an Ed25519 key that stays in a token (PKCS#11), asked directly (CKM_EDDSA):
// OpenSSL's engine for tokens, libp11 0.4.12, finds no key that is neither RSA nor on a Weierstrass
// curve.
#ifndef HEFT_SERVICE_HTTP_TOKEN_SIGNER_H_
#define HEFT_SERVICE_HTTP_TOKEN_SIGNER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace heft::service {

class TokenSigner {
 public:
  // Of "pkcs11:token=...;object=...?module-path=/usr/lib/...so&pin-source=/run/.../pin" (RFC 7512):
  // the private key of that label in the token of that label, whose public half is beside it.
  // kInvalidArgument, kNotFound, kFailedPrecondition: each names the URI and what to do.
  static absl::StatusOr<std::shared_ptr<TokenSigner>> Open(const std::string& uri);
  virtual ~TokenSigner() = default;
  virtual const std::array<uint8_t, 32>& public_key() const = 0;
  // Any number of threads, one after the other. Where the session has ended it is begun again, and
  // so is the module where that does not help (a token that was away), unless OpenSSL's engine is
  // in use beside it. kUnavailable with a text that says nothing of the key: the log has the
  // reason. A PIN that was refused is not tried again before PrepareReload.
  virtual absl::StatusOr<std::array<uint8_t, 64>> Sign(std::span<const uint8_t> message) = 0;
  // Answers: whether it would sign now. kUnavailable.
  virtual absl::Status Answers() = 0;
  // PrepareReload: reads the PIN's file again; the PIN holds when what is returned was called. The
  // errors of that file.
  virtual absl::StatusOr<std::function<void()>> PrepareReload() = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_TOKEN_SIGNER_H_
