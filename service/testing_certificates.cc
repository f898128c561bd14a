// SPDX-License-Identifier: Apache-2.0
// Certificates, lists of revoked ones, and tokens, made for each test.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "base/files.h"
#include "service/access/jwt.h"
#include "service/http/private_key.h"
#include "service/json.h"
#include "service/testing.h"

namespace heft::service::testing {
namespace {

using Key = std::shared_ptr<EVP_PKEY>;
using Certificate = std::shared_ptr<X509>;

void Must(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "service/testing: %s: %s\n", what, OpenSslErrors().c_str());
  std::abort();
}

Key MakeKey(const std::string& algorithm) {
  EVP_PKEY* key = algorithm == "EdDSA"   ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")
                  : algorithm == "ES256" ? EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")
                                         : EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", size_t{2048});
  Must(key != nullptr, "a key");
  return Key(key, EVP_PKEY_free);
}

void AddExtension(X509* certificate, X509* issuer, int what, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value);
  Must(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, value);
  X509_EXTENSION_free(extension);
}

std::string PemOf(const Certificate& certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  Must(PEM_write_bio_X509(bio, certificate.get()) == 1, "a certificate as PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);  // NOLINT: OpenSSL's type
  std::string out(text, size);
  BIO_free(bio);
  return out;
}

void WriteKey(const std::string& path, EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  Must(PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "a key");
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);  // NOLINT: OpenSSL's type
  Must(WriteFileAtomic(path, std::string_view(text, size), 0600).ok(), path.c_str());
  BIO_free(bio);
}

// MakeCertificate: for `key`, signed by `issuer`; self-signed without an issuer.
Certificate MakeCertificate(EVP_PKEY* key, const std::string& subject, X509* issuer,
                            EVP_PKEY* issuer_key, ThrowAwayCa::Times times, uint64_t serial) {
  const Certificate made(X509_new(), X509_free);
  X509* certificate = made.get();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), times.from);
  X509_gmtime_adj(X509_getm_notAfter(certificate), times.to);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
  const bool authority = issuer == nullptr;
  X509_set_issuer_name(certificate, authority ? name : X509_get_subject_name(issuer));
  X509* signer = authority ? certificate : issuer;
  AddExtension(certificate, signer, NID_basic_constraints,
               authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  AddExtension(certificate, signer, NID_subject_key_identifier, "hash");
  if (authority) {
    AddExtension(certificate, signer, NID_key_usage, "critical,keyCertSign,cRLSign");
  } else {
    AddExtension(certificate, signer, NID_key_usage, "critical,digitalSignature");
    AddExtension(certificate, signer, NID_ext_key_usage, "serverAuth,clientAuth");
    AddExtension(certificate, signer, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1");
  }
  Must(X509_sign(certificate, issuer_key, EVP_sha256()) > 0, "a signature");
  return made;
}

}  // namespace

struct ThrowAwayCa::Impl {
  Key key;
  Certificate certificate;
  uint64_t serial = 1;
};

ThrowAwayCa::ThrowAwayCa(const std::string& folder, const std::string& name)
    : impl_(std::make_unique<Impl>()), folder_(folder), authorities_(folder + "/" + name + ".pem") {
  impl_->key = MakeKey("ES256");
  impl_->certificate = MakeCertificate(impl_->key.get(), "throw-away " + name, nullptr,
                                       impl_->key.get(), Times(), impl_->serial++);
  Must(WriteFileAtomic(authorities_, PemOf(impl_->certificate)).ok(), "the authority's file");
}

ThrowAwayCa::~ThrowAwayCa() = default;

TlsFiles ThrowAwayCa::Issue(const std::string& subject, Times times) const {
  const Key key = MakeKey("ES256");
  TlsFiles files;
  files.certificate = folder_ + "/" + subject + ".pem";
  files.private_key = folder_ + "/" + subject + ".key";
  files.authorities = authorities_;
  const Certificate made = MakeCertificate(key.get(), subject, impl_->certificate.get(),
                                           impl_->key.get(), times, impl_->serial++);
  Must(WriteFileAtomic(files.certificate, PemOf(made)).ok(), "a certificate's file");
  WriteKey(files.private_key, key.get());
  return files;
}

TlsFiles ThrowAwayCa::IssueFor(EVP_PKEY* key, const std::string& subject,
                               const std::string& private_key) const {
  TlsFiles files;
  files.certificate = folder_ + "/" + subject + ".pem";
  files.private_key = private_key;
  files.authorities = authorities_;
  const Certificate made = MakeCertificate(key, subject, impl_->certificate.get(), impl_->key.get(),
                                           Times(), impl_->serial++);
  Must(WriteFileAtomic(files.certificate, PemOf(made)).ok(), "a certificate's file");
  return files;
}

std::string ThrowAwayCa::Revoke(const std::vector<std::string>& certificate_files,
                                Times times) const {
  X509_CRL* list = X509_CRL_new();
  X509_CRL_set_version(list, X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list, X509_get_subject_name(impl_->certificate.get()));
  ASN1_TIME* time = ASN1_TIME_new();
  X509_gmtime_adj(time, times.from);
  X509_CRL_set1_lastUpdate(list, time);
  for (const std::string& file : certificate_files) {
    std::FILE* stream = std::fopen(file.c_str(), "r");
    Must(stream != nullptr, file.c_str());
    X509* certificate = PEM_read_X509(stream, nullptr, nullptr, nullptr);
    std::fclose(stream);
    Must(certificate != nullptr, file.c_str());
    X509_REVOKED* revoked = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(revoked, X509_get_serialNumber(certificate));
    X509_REVOKED_set_revocationDate(revoked, time);
    X509_CRL_add0_revoked(list, revoked);
    X509_free(certificate);
  }
  X509_gmtime_adj(time, times.to);
  X509_CRL_set1_nextUpdate(list, time);
  ASN1_TIME_free(time);
  X509_CRL_sort(list);
  Must(X509_CRL_sign(list, impl_->key.get(), EVP_sha256()) > 0, "a list's signature");
  const std::string path = folder_ + "/revoked.pem";
  std::FILE* stream = std::fopen(path.c_str(), "w");
  Must(stream != nullptr && PEM_write_X509_CRL(stream, list) == 1, path.c_str());
  std::fclose(stream);
  X509_CRL_free(list);
  return path;
}

struct TokenIssuer::Impl {
  std::map<std::string, Key> keys;
  Key foreign;
  std::string jwks;
};

TokenIssuer::TokenIssuer(const std::string& folder) : impl_(std::make_unique<Impl>()) {
  Json keys = Json::array();
  for (const char* algorithm : {"EdDSA", "ES256", "RS256"}) {
    const Key key = MakeKey(algorithm);
    const auto jwk = PublicJwk(key.get(), algorithm);
    Must(jwk.ok(), algorithm);
    keys.push_back(*jwk);
    impl_->keys[algorithm] = key;
  }
  impl_->foreign = MakeKey("EdDSA");
  impl_->jwks = folder + "/jwks.json";
  const Json set = {{"keys", keys}};
  Must(WriteFileAtomic(impl_->jwks, set.dump()).ok(), "the JWKS");
}

TokenIssuer::~TokenIssuer() = default;

TokenRules TokenIssuer::Rules() const {
  TokenRules rules;
  rules.issuer = "https://issuer.test";
  rules.audience = "heft-test";
  rules.keys = impl_->jwks;
  for (const ServiceRole role : kServiceRoles) {
    if (!IsDaemon(role)) rules.roles.insert(std::string(ServiceRoleName(role)));
  }
  return rules;
}

namespace {

Json GoodClaims(const std::string& subject, const std::set<ServiceRole>& roles) {
  const auto now = static_cast<int64_t>(std::time(nullptr));
  Json names = Json::array();
  for (const ServiceRole role : roles) names.push_back(std::string(ServiceRoleName(role)));
  return {{"iss", "https://issuer.test"},
          {"sub", subject},
          {"aud", "heft-test"},
          {"iat", now},
          {"exp", now + 3600},
          {"roles", names}};
}

}  // namespace

std::string TokenIssuer::Token(const std::string& subject, const std::set<ServiceRole>& roles,
                               const Json& claims, const std::string& algorithm) const {
  Json all = GoodClaims(subject, roles);
  for (const auto& [name, value] : claims.items()) {
    if (value.is_null()) {
      all.erase(name);
    } else {
      all[name] = value;
    }
  }
  const auto token = SignJws(key(algorithm), algorithm, all);
  Must(token.ok(), "a token");
  return *token;
}

std::string TokenIssuer::Forged(const std::string& subject,
                                const std::set<ServiceRole>& roles) const {
  const auto token = SignJws(impl_->foreign.get(), "EdDSA", GoodClaims(subject, roles));
  Must(token.ok(), "a forged token");
  return *token;
}

EVP_PKEY* TokenIssuer::key(const std::string& algorithm) const {
  return impl_->keys.at(algorithm).get();
}

}  // namespace heft::service::testing
