// SPDX-License-Identifier: Apache-2.0
// Private keys of the services: PEM files that only their owner can read, or keys that stay in a
// token (PKCS#11), which OpenSSL reaches through its engine "pkcs11".
#ifndef HEFT_SERVICE_HTTP_PRIVATE_KEY_H_
#define HEFT_SERVICE_HTTP_PRIVATE_KEY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

typedef struct evp_pkey_st EVP_PKEY;

namespace heft::service {

// LoadPrivateKey: from a PEM file without a passphrase (mode 0600 or 0400, owned by this user or
// root), or from a URI
// "pkcs11:token=...;object=...?module-path=/usr/lib/...so&pin-source=/run/.../pin" (RFC 7512). The
// PIN comes from a file, never from the URI. One module for each process. kNotFound,
// kFailedPrecondition, kInvalidArgument: each names the key and says what to do.
absl::StatusOr<std::shared_ptr<EVP_PKEY>> LoadPrivateKey(const std::string& file_or_uri);

// TokenEngineIsLoaded: whether this process uses a key of OpenSSL's engine.
bool TokenEngineIsLoaded();

// OpenSslErrors: OpenSSL's messages for this thread's last failure, in one line; clears them.
std::string OpenSslErrors();

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_PRIVATE_KEY_H_
