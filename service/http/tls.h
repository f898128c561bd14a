// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 for both services and their clients. Both sides check certificates, and these can be
// reloaded without ending connections. Private keys are PEM files (mode 0600) or PKCS#11 URIs.
#ifndef HEFT_SERVICE_HTTP_TLS_H_
#define HEFT_SERVICE_HTTP_TLS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

typedef struct ssl_ctx_st SSL_CTX;

namespace heft::service {

struct TlsFiles {
  std::string certificate;   // PEM chain, leaf first
  std::string private_key;   // PEM file, or "pkcs11:..."
  std::string authorities;   // PEM: authorities of the peers' certificates
  std::string revoked = {};  // PEM list (CRL); empty: none
  bool require_peer = true;  // a server's: connections without a certificate end
};

// PeerCertificate: the fields of a verified certificate that the services use.
struct PeerCertificate {
  std::string subject;      // common name
  std::string fingerprint;  // SHA-256, hexadecimal
  uint64_t expires = 0;     // Unix seconds
};

class TlsContext {
 public:
  // kInvalidArgument, kNotFound, kFailedPrecondition (a key that others can read, an expired
  // certificate, a key of another certificate, an authority without a valid list): each names the
  // file and says what to do.
  static absl::StatusOr<std::shared_ptr<TlsContext>> ForServer(const TlsFiles& files);
  static absl::StatusOr<std::shared_ptr<TlsContext>> ForClient(const TlsFiles& files);
  virtual ~TlsContext() = default;
  // Reads the files again. New connections use them; an open connection is checked against them at
  // its next request. An error changes nothing.
  absl::Status Reload();
  // Prepare: reads and checks other files; they take effect when the returned function is called.
  virtual absl::StatusOr<std::function<void()>> Prepare(TlsFiles files) = 0;
  virtual TlsFiles files() const = 0;
  // The context for a new connection; it lives until its last holder releases it.
  virtual std::shared_ptr<SSL_CTX> Current() const = 0;
  virtual uint64_t expires() const = 0;  // of our own certificate
  // When the first list of revoked certificates ends: after that, all peers of its authority are
  // refused. 0: no list ends.
  virtual uint64_t revoked_expires() const = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_TLS_H_
