// SPDX-License-Identifier: Apache-2.0
// Functions for certificates that only http/ uses.
#ifndef HEFT_SERVICE_HTTP_TLS_INTERNAL_H_
#define HEFT_SERVICE_HTTP_TLS_INTERNAL_H_

#include <optional>

#include "absl/status/status.h"
#include "service/http/tls.h"

typedef struct ssl_st SSL;
typedef struct x509_st X509;

namespace heft::service {

// DescribeCertificate: the subject is empty unless there is exactly one common name, without
// control characters.
PeerCertificate DescribeCertificate(X509* certificate);
// UseContext: gives `made`, a client's context from libcurl, the settings of `ours`.
absl::Status UseContext(SSL_CTX* made, SSL_CTX* ours);
// PeerOf: the peer of a connection after the handshake; nullopt if it showed no certificate.
std::optional<PeerCertificate> PeerOf(SSL* ssl);

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_TLS_INTERNAL_H_
