// SPDX-License-Identifier: Apache-2.0
#include "service/http/tls.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "service/http/private_key.h"
#include "service/http/tls_internal.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxPem = 4 << 20;

uint64_t UnixTime(const ASN1_TIME* time) {
  std::tm broken{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &broken) != 1) return 0;
  const time_t unix_time = timegm(&broken);
  return unix_time < 0 ? 0 : static_cast<uint64_t>(unix_time);
}

// PemFile: the bytes of a file, for OpenSSL to read.
class PemFile {
 public:
  static absl::StatusOr<PemFile> Read(const std::string& path) {
    HEFT_ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, kMaxPem));
    return PemFile(std::move(text));
  }
  template <typename T, typename F>
  std::vector<std::shared_ptr<T>> All(F read, void (*release)(T*)) const {
    std::vector<std::shared_ptr<T>> all;
    BIO* bio = BIO_new_mem_buf(text_.data(), static_cast<int>(text_.size()));
    while (T* one = read(bio, nullptr, nullptr, nullptr)) all.emplace_back(one, release);
    BIO_free(bio);
    OpenSslErrors();  // the end of the file is one
    return all;
  }

 private:
  explicit PemFile(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

absl::StatusOr<std::vector<std::shared_ptr<X509>>> ReadCertificates(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const PemFile file, PemFile::Read(path));
  auto all = file.All<X509>(PEM_read_bio_X509, X509_free);
  if (all.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " contains no certificate in PEM"));
  }
  return all;
}

absl::Status Refused(const std::string& file, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": ", std::string(what), ": ", OpenSslErrors()));
}

// UseOurs: sets our certificate, its chain and its key. `expires`: the end of the certificate.
absl::Status UseOurs(SSL_CTX* context, const TlsFiles& files, uint64_t* expires) {
  HEFT_ASSIGN_OR_RETURN(const auto chain, ReadCertificates(files.certificate));
  *expires = UnixTime(X509_get0_notAfter(chain[0].get()));
  if (*expires <= static_cast<uint64_t>(std::time(nullptr))) {
    return absl::FailedPreconditionError(
        absl::StrCat(files.certificate, ": the certificate has expired: get a new one"));
  }
  if (SSL_CTX_use_certificate(context, chain[0].get()) != 1) {
    return Refused(files.certificate, "the certificate cannot be used");
  }
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) {
      return Refused(files.certificate, "its chain cannot be used");
    }
  }
  HEFT_ASSIGN_OR_RETURN(const std::shared_ptr<EVP_PKEY> key, LoadPrivateKey(files.private_key));
  if (X509_check_private_key(chain[0].get(), key.get()) != 1) {
    OpenSslErrors();
    return absl::FailedPreconditionError(absl::StrCat(
        files.private_key, " is not the key of the certificate in ", files.certificate));
  }
  return SSL_CTX_use_PrivateKey(context, key.get()) == 1
             ? absl::OkStatus()
             : Refused(files.private_key, "the key cannot be used");
}

using Certificates = std::vector<std::shared_ptr<X509>>;
using Lists = std::vector<std::shared_ptr<X509_CRL>>;

// SignsOthers: whether the authority signs another authority in the file. Only authorities that
// sign peers directly need a list. A renewed certificate of the same authority does not count as
// another.
bool SignsOthers(X509* authority, const Certificates& all) {
  const X509_NAME* const name = X509_get_subject_name(authority);
  return std::ranges::any_of(all, [&](const auto& other) {
    return X509_NAME_cmp(X509_get_subject_name(other.get()), name) != 0 &&
           X509_NAME_cmp(X509_get_issuer_name(other.get()), name) == 0 &&
           X509_verify(other.get(), X509_get0_pubkey(authority)) == 1;
  });
}

// EndOfList: when the authority's list ends, for several lists the latest end; 0: never. Without a
// valid list, every certificate of the authority would be refused later, so this is an error now.
absl::StatusOr<uint64_t> EndOfList(X509* authority, const Lists& lists, const std::string& file) {
  const auto now = static_cast<uint64_t>(std::time(nullptr));
  bool found = false;
  uint64_t end = 0;
  for (const auto& list : lists) {
    if (X509_NAME_cmp(X509_CRL_get_issuer(list.get()), X509_get_subject_name(authority)) != 0 ||
        X509_CRL_verify(list.get(), X509_get0_pubkey(authority)) != 1 ||
        UnixTime(X509_CRL_get0_lastUpdate(list.get())) > now) {
      continue;
    }
    const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(list.get());
    if (next == nullptr) return 0;
    found = true;
    end = std::max(end, UnixTime(next));
  }
  OpenSslErrors();
  if (found && end > now) return end;
  char name[256] = "";
  X509_NAME_oneline(X509_get_subject_name(authority), name, sizeof name);
  return absl::FailedPreconditionError(absl::StrCat(
      file, found ? ": the list of " : ": has no valid list of revoked certificates of ", name,
      found ? " has expired, so all its certificates would be refused: obtain a new one"
            : ", so all its certificates would be refused: add its list"));
}

// UseLists: sets the lists of revoked certificates. `expires`: when the first list ends.
absl::Status UseLists(X509_STORE* store, const std::string& path, const Certificates& authorities,
                      uint64_t* expires) {
  HEFT_ASSIGN_OR_RETURN(const PemFile file, PemFile::Read(path));
  const Lists lists = file.All<X509_CRL>(PEM_read_bio_X509_CRL, X509_CRL_free);
  if (lists.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " contains no list of revoked certificates in PEM"));
  }
  for (const auto& authority : authorities) {
    if (SignsOthers(authority.get(), authorities)) continue;
    HEFT_ASSIGN_OR_RETURN(const uint64_t end, EndOfList(authority.get(), lists, path));
    if (end != 0 && (*expires == 0 || end < *expires)) *expires = end;
  }
  for (const auto& list : lists) {
    if (X509_STORE_add_crl(store, list.get()) != 1) return Refused(path, "not usable");
  }
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
  return absl::OkStatus();
}

// UseTheirs: sets the authorities of the peers' certificates and their lists of revoked ones.
absl::Status UseTheirs(SSL_CTX* context, const TlsFiles& files, bool server,
                       uint64_t* revoked_expires) {
  HEFT_ASSIGN_OR_RETURN(const Certificates authorities, ReadCertificates(files.authorities));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const auto& authority : authorities) {
    if (X509_STORE_add_cert(store, authority.get()) != 1) {
      return Refused(files.authorities, "an authority cannot be used");
    }
    if (server) SSL_CTX_add_client_CA(context, authority.get());
  }
  if (files.revoked.empty()) return absl::OkStatus();
  return UseLists(store, files.revoked, authorities, revoked_expires);
}

// Harden: only TLS 1.3, without resumption. Every connection shows its certificate, so a revoked
// one is refused.
absl::Status Harden(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // Idle connections keep no buffers. Partial writes, because our sockets do not block.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_verify_depth(context, 4);
  const bool set = SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                   SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
                   SSL_CTX_set_num_tickets(context, 0) == 1 &&
                   SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1 &&
                   SSL_CTX_set_ciphersuites(context,
                                            "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:"
                                            "TLS_AES_128_GCM_SHA256") == 1;
  return set ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   absl::StrCat("OpenSSL does not offer TLS 1.3: ", OpenSslErrors()));
}

class FileTls : public TlsContext {
 public:
  FileTls(TlsFiles files, bool server) : server_(server), files_(std::move(files)) {}

  absl::StatusOr<std::function<void()>> Prepare(TlsFiles files) override {
    const std::shared_ptr<SSL_CTX> made(
        SSL_CTX_new(server_ ? TLS_server_method() : TLS_client_method()),
        [](SSL_CTX* context) { SSL_CTX_free(context); });
    if (made == nullptr) return absl::UnavailableError(OpenSslErrors());
    uint64_t expires = 0, revoked_expires = 0;
    HEFT_RETURN_IF_ERROR(Harden(made.get()));
    HEFT_RETURN_IF_ERROR(UseOurs(made.get(), files, &expires));
    HEFT_RETURN_IF_ERROR(UseTheirs(made.get(), files, server_, &revoked_expires));
    const bool required = server_ && files.require_peer;
    SSL_CTX_set_verify(made.get(),
                       SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
    return [this, made, expires, revoked_expires, files = std::move(files)] {
      const std::lock_guard<std::mutex> lock(mutex_);
      files_ = files;
      current_ = made;
      expires_ = expires;
      revoked_expires_ = revoked_expires;
    };
  }
  TlsFiles files() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return files_;
  }
  std::shared_ptr<SSL_CTX> Current() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return current_;
  }
  uint64_t expires() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return expires_;
  }
  uint64_t revoked_expires() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return revoked_expires_;
  }

 private:
  const bool server_;
  mutable std::mutex mutex_;  // of all below
  TlsFiles files_;            // of the current context
  std::shared_ptr<SSL_CTX> current_;
  uint64_t expires_ = 0, revoked_expires_ = 0;
};

absl::StatusOr<std::shared_ptr<TlsContext>> Make(const TlsFiles& files, bool server) {
  auto made = std::make_shared<FileTls>(files, server);
  HEFT_RETURN_IF_ERROR(made->Reload());
  return std::shared_ptr<TlsContext>(std::move(made));
}

// CommonName: the only common name of a certificate's subject, as UTF-8.
std::string CommonName(X509* certificate) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(name, NID_commonName, at) >= 0) return "";
  unsigned char* text = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  if (size < 0) return "";
  std::string out(reinterpret_cast<char*>(text), size);
  OPENSSL_free(text);
  for (const char c : out) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) return "";
  }
  return out;
}

}  // namespace

absl::Status TlsContext::Reload() {
  HEFT_ASSIGN_OR_RETURN(const auto install, Prepare(files()));
  install();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<TlsContext>> TlsContext::ForServer(const TlsFiles& files) {
  return Make(files, true);
}

absl::StatusOr<std::shared_ptr<TlsContext>> TlsContext::ForClient(const TlsFiles& files) {
  return Make(files, false);
}

absl::Status UseContext(SSL_CTX* made, SSL_CTX* ours) {
  HEFT_RETURN_IF_ERROR(Harden(made));
  STACK_OF(X509)* chain = nullptr;
  const bool used = SSL_CTX_get0_chain_certs(ours, &chain) == 1 &&
                    SSL_CTX_use_cert_and_key(made, SSL_CTX_get0_certificate(ours),
                                             SSL_CTX_get0_privatekey(ours), chain, 1) == 1;
  if (!used) {
    return absl::FailedPreconditionError(
        absl::StrCat("the certificate cannot be used: ", OpenSslErrors()));
  }
  SSL_CTX_set1_cert_store(made, SSL_CTX_get_cert_store(ours));
  // libcurl shows the oldest error in the queue, which would name no certificate: clear the queue.
  SSL_CTX_set_verify(made, SSL_VERIFY_PEER, [](int good, X509_STORE_CTX*) {
    if (good == 0) OpenSslErrors();
    return good;
  });
  return absl::OkStatus();
}

PeerCertificate DescribeCertificate(X509* certificate) {
  PeerCertificate out;
  out.subject = CommonName(certificate);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) == 1) {
    out.fingerprint = HexString({digest, size});
  }
  out.expires = UnixTime(X509_get0_notAfter(certificate));
  return out;
}

std::optional<PeerCertificate> PeerOf(SSL* ssl) {
  X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return std::nullopt;
  return DescribeCertificate(certificate);
}

}  // namespace heft::service
