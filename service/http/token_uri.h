// SPDX-License-Identifier: Apache-2.0
// TokenUri: where a key in a token is (RFC 7512), in parts.
#ifndef HEFT_SERVICE_HTTP_TOKEN_URI_H_
#define HEFT_SERVICE_HTTP_TOKEN_URI_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/secure.h"

namespace heft::service {

inline constexpr char kTokenScheme[] = "pkcs11:";

struct TokenUri {
  std::string uri;            // without the query
  std::string token, object;  // labels; empty: any
  std::string module;         // of the query: module-path
  SecureVector<char> pin;     // what the file of pin-source holds, and a zero; empty: none
};

// ParseTokenUri: kInvalidArgument for what it does not know in the query: a PIN is never in the URI
// itself; the errors of the PIN's file.
absl::StatusOr<TokenUri> ParseTokenUri(const std::string& text);

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_TOKEN_URI_H_
