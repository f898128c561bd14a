// SPDX-License-Identifier: Apache-2.0
// TokenUri: the parts of the URI of a key in a token (RFC 7512).
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
  SecureVector<char> pin;     // content of the pin-source file, and a zero; empty: none
};

// ParseTokenUri: kInvalidArgument for unknown attributes in the query, so the URI never holds a
// PIN; the errors of the PIN's file.
absl::StatusOr<TokenUri> ParseTokenUri(const std::string& text);

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_TOKEN_URI_H_
