// SPDX-License-Identifier: Apache-2.0
// TokenSigner: an Ed25519 key that stays in a token (PKCS#11), used directly (CKM_EDDSA). OpenSSL's
// engine for tokens, libp11 0.4.12, finds only RSA keys and keys on Weierstrass curves.
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
  // From "pkcs11:token=...;object=...?module-path=/usr/lib/...so&pin-source=/run/.../pin" (RFC
  // 7512): the private key with the label `object` in the token with the label `token`, with its
  // public half beside it. kInvalidArgument, kNotFound, kFailedPrecondition: each names the URI and
  // says what to do.
  static absl::StatusOr<std::shared_ptr<TokenSigner>> Open(const std::string& uri);
  virtual ~TokenSigner() = default;
  virtual const std::array<uint8_t, 32>& public_key() const = 0;
  // Any number of threads, one after the other. If the session has ended, it is opened again; if
  // that fails (the token was away), the module is initialised again, unless OpenSSL's engine is in
  // use. kUnavailable with a text that does not describe the key; the log has the reason. A refused
  // PIN is not tried again before PrepareReload.
  virtual absl::StatusOr<std::array<uint8_t, 64>> Sign(std::span<const uint8_t> message) = 0;
  // Answers: kUnavailable if it could not sign now.
  virtual absl::Status Answers() = 0;
  // PrepareReload: reads the PIN's file again; the PIN is used once the returned function is
  // called. The errors of that file.
  virtual absl::StatusOr<std::function<void()>> PrepareReload() = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_TOKEN_SIGNER_H_
