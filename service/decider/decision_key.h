// SPDX-License-Identifier: Apache-2.0
// DecisionKey: signs decisions, so that any party that receives one can check it. JSON Web
// Signatures (RFC 7515): EdDSA (RFC 8037) for an Ed25519 key, ES256 for a P-256 key, as most tokens
// (PKCS#11) hold. The public keys are a JSON Web Key Set (RFC 7517).
#ifndef HEFT_SERVICE_DECIDER_DECISION_KEY_H_
#define HEFT_SERVICE_DECIDER_DECISION_KEY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "service/json.h"

typedef struct evp_pkey_st EVP_PKEY;

namespace heft::service {

class DecisionKey {
 public:
  // `key`: PEM file or "pkcs11:..." (http/private_key.h). `retired`: PEM files of earlier public
  // keys, which stay in the key set until their decisions have expired. LoadPrivateKey's errors;
  // kInvalidArgument for another kind of key.
  static absl::StatusOr<DecisionKey> Load(const std::string& key,
                                          const std::vector<std::string>& retired = {});

  // The compact serialization of the signed `claims`, with the key's thumbprint (RFC 7638) as
  // "kid". kUnavailable if a token does not sign.
  absl::StatusOr<std::string> Sign(const Json& claims) const;
  // {"keys": [...]}, the current key first.
  const Json& jwks() const { return jwks_; }
  const std::string& id() const { return id_; }

 private:
  DecisionKey() = default;
  std::shared_ptr<EVP_PKEY> key_;
  std::string id_;
  Json jwks_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_DECISION_KEY_H_
