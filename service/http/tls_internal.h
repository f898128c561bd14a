// SPDX-License-Identifier: Apache-2.0
// Of certificates, what http/ alone needs.
#ifndef HEFT_SERVICE_HTTP_TLS_INTERNAL_H_
#define HEFT_SERVICE_HTTP_TLS_INTERNAL_H_

#include <optional>

#include "absl/status/status.h"
#include "service/http/tls.h"

typedef struct ssl_st SSL;
typedef struct x509_st X509;

namespace heft::service {

// DescribeCertificate: an empty subject where there is no one common name without control
// characters.
PeerCertificate DescribeCertificate(X509* certificate);
// UseContext: `made`, a client's context that libcurl has made, becomes what `ours` is.
absl::Status UseContext(SSL_CTX* made, SSL_CTX* ours);
// PeerOf: of a connection whose handshake is done; none where the peer has shown no certificate.
std::optional<PeerCertificate> PeerOf(SSL* ssl);

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_TLS_INTERNAL_H_
