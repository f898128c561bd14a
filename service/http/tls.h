// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 for both services and their clients: certificates that are checked on both sides, and can
// be read anew without ending connections. Private keys are PEM files (mode 0600) or PKCS#11 URIs.
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
  std::string authorities;   // PEM: who signs the peers' certificates
  std::string revoked = {};  // PEM list (CRL); empty: none
  bool require_peer = true;  // a server's: connections without a certificate end
};

// PeerCertificate: what of a checked certificate matters here.
struct PeerCertificate {
  std::string subject;      // common name
  std::string fingerprint;  // SHA-256, hexadecimal
  uint64_t expires = 0;     // Unix seconds
};

class TlsContext {
 public:
  // kInvalidArgument, kNotFound, kFailedPrecondition (a key that others may read, an expired
  // certificate, a key of another certificate, an authority without a list that counts now): each
  // names the file and what to do.
  static absl::StatusOr<std::shared_ptr<TlsContext>> ForServer(const TlsFiles& files);
  static absl::StatusOr<std::shared_ptr<TlsContext>> ForClient(const TlsFiles& files);
  virtual ~TlsContext() = default;
  // Reads the files again; connections from now on use them, and at their next request those that
  // are open are asked whether their certificates still count. On an error all stays as it was.
  absl::Status Reload();
  // Prepare: Reload's first half, of other files; the second is to call what it returns.
  virtual absl::StatusOr<std::function<void()>> Prepare(TlsFiles files) = 0;
  virtual TlsFiles files() const = 0;
  // The context for a new connection; it lives as long as anybody holds it.
  virtual std::shared_ptr<SSL_CTX> Current() const = 0;
  virtual uint64_t expires() const = 0;  // of our own certificate
  // When the first of the lists of revoked certificates ends: from then on no peer of its authority
  // is believed. 0: none ends.
  virtual uint64_t revoked_expires() const = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_TLS_H_
