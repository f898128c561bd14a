// SPDX-License-Identifier: Apache-2.0
// Private keys of the services: PEM files that nobody else may read, or keys that stay in a token
// (PKCS#11), which OpenSSL reaches through its engine "pkcs11".
#ifndef HEFT_SERVICE_HTTP_PRIVATE_KEY_H_
#define HEFT_SERVICE_HTTP_PRIVATE_KEY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

typedef struct evp_pkey_st EVP_PKEY;

namespace heft::service {

// LoadPrivateKey: of a PEM file without a passphrase (mode 0600 or 0400, this user's or root's), or
// of a URI "pkcs11:token=...;object=...?module-path=/usr/lib/...so&pin-source=/run/.../pin" (RFC
// 7512); the PIN comes from a file, never from the URI itself. One module a process. kNotFound,
// kFailedPrecondition, kInvalidArgument: each names the key and what to do.
absl::StatusOr<std::shared_ptr<EVP_PKEY>> LoadPrivateKey(const std::string& file_or_uri);

// TokenEngineIsLoaded: whether a key of this process is one of OpenSSL's engine.
bool TokenEngineIsLoaded();

// OpenSslErrors: what OpenSSL has to say of this thread's last failure, in one line; clears it.
std::string OpenSslErrors();

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_PRIVATE_KEY_H_
