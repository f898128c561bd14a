// SPDX-License-Identifier: Apache-2.0
#include "service/testing.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "base/testing.h"

namespace heft::service::testing {
namespace {

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "service/testing: %s\n", value.status().ToString().c_str());
    std::abort();
  }
  return *std::move(value);
}

AuthorityOptions OptionsOf(const TokenIssuer& issuer, const TestService::Options& options) {
  AuthorityOptions out;
  for (const ServiceRole role : kServiceRoles) {
    out.rules.certificates.push_back({std::string(ServiceRoleName(role)), "", {role}, false});
  }
  out.rules.certificates.push_back({"carrier", "", {}, true});
  out.rules.tokens = issuer.Rules();
  out.nonces = options.nonces;
  out.principal = options.principal;
  out.identity = options.identity;
  return out;
}

}  // namespace

struct TestService::Impl {
  explicit Impl(Router router, const Options& options) : ca(folder.path()), issuer(folder.path()) {
    authority = Must(Authority::Create(OptionsOf(issuer, options)));
    tls = Must(TlsContext::ForServer(ca.Issue("server")));
    server = Must(HttpServer::Listen("127.0.0.1:0", -1, tls, options.limits, std::move(router),
                                     authority->gate(), options.observer));
    server->Start();
  }

  heft::testing::TemporaryFolder folder;
  ThrowAwayCa ca;
  TokenIssuer issuer;
  std::unique_ptr<Authority> authority;
  std::shared_ptr<TlsContext> tls;
  std::unique_ptr<HttpServer> server;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<HttpClient>> clients;
};

TestService::TestService(Router router, Options options)
    : impl_(std::make_unique<Impl>(std::move(router), options)) {}
TestService::~TestService() {
  impl_->clients.clear();
  impl_->server.reset();
}

const std::string& TestService::folder() const { return impl_->folder.path(); }
uint16_t TestService::port() const { return impl_->server->port(); }
std::string TestService::url() const { return absl::StrCat("https://localhost:", port()); }
HttpServer& TestService::server() { return *impl_->server; }
Authority& TestService::authority() { return *impl_->authority; }
const ThrowAwayCa& TestService::ca() const { return impl_->ca; }
const TokenIssuer& TestService::issuer() const { return impl_->issuer; }

HttpClient& TestService::Client(const std::string& subject) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  std::unique_ptr<HttpClient>& client = impl_->clients[subject];
  if (client == nullptr) {
    client = Must(HttpClient::Create(url(), Must(TlsContext::ForClient(impl_->ca.Issue(subject)))));
  }
  return *client;
}

}  // namespace heft::service::testing
