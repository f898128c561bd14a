// SPDX-License-Identifier: Apache-2.0
#include "service/access/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/testing.h"
#include "service/access/replay.h"
#include "service/json.h"
#include "service/testing.h"
#include "service/text.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestService;

Router OneRouteAScope() {
  Router router;
  int i = 0;
  for (const Scope scope : kScopes) {
    for (const bool is_signed : {false, true}) {
      Route route;
      route.method = is_signed ? "POST" : "GET";
      route.pattern = "/v1/" + std::to_string(i) + "/{person}";
      route.operation = std::to_string(i++);
      route.scope = scope;
      route.signed_request = is_signed;
      route.handler = [](const HttpRequest& request) {
        return JsonResponse({{"who", request.who.name}, {"machine", request.who.machine}});
      };
      router.Add(std::move(route));
    }
  }
  return router;
}

// Every scope, with and without nonces, times every role times every credential.
TEST(AuthorityTest, TheTableHolds) {
  const testing::AccessTable table = testing::CheckAccessTable(OneRouteAScope());
  EXPECT_THAT(table.wrong, IsEmpty());
  EXPECT_EQ(table.cells, std::size(kScopes) * 2 * std::size(kServiceRoles) * 11);
}

// The whole table written out by hand, so that no role gains a scope by accident.
TEST(AuthorityTest, NobodyMayTooMuch) {
  using Role = ServiceRole;
  const std::map<Scope, std::set<Role>> by_hand = {
      {Scope::kPublic, {}},
      {Scope::kReadModel,
       {Role::kClient, Role::kRegistrar, Role::kOperator, Role::kRelyingParty, Role::kMachine}},
      {Scope::kEnrol, {Role::kRegistrar}},
      {Scope::kIdentify, {Role::kClient, Role::kRelyingParty}},
      {Scope::kVerify, {Role::kClient, Role::kRelyingParty}},
      {Scope::kReadPersons, {Role::kRegistrar, Role::kOperator}},
      {Scope::kRemove, {Role::kRegistrar}},
      {Scope::kReadGallery, {Role::kRegistrar, Role::kOperator, Role::kAuditor}},
      {Scope::kManageGallery, {Role::kOperator}},
      {Scope::kManageKeys, {Role::kOperator}},
      {Scope::kReadAdmissions, {Role::kRegistrar, Role::kOperator, Role::kAuditor}},
      {Scope::kApprove, {Role::kOperator}},
      {Scope::kExchange, {Role::kMachine}},
      {Scope::kDecide, {Role::kMachine, Role::kRelyingParty}},
      {Scope::kOpenParts, {Role::kFellow}},
      {Scope::kReadAudit, {Role::kAuditor}},
      {Scope::kReadMetrics, {Role::kOperator, Role::kAuditor}}};
  ASSERT_EQ(by_hand.size(), std::size(kScopes));
  for (const auto& [scope, roles] : by_hand) {
    for (const Role role : kServiceRoles) {
      EXPECT_EQ(ScopesOf(role).contains(scope), roles.contains(role))
          << ServiceRoleName(role) << " " << ScopeName(scope);
    }
  }
}

class AuthorityWorld : public ::testing::Test {
 protected:
  static std::string PathOf(Scope scope, bool is_signed) {
    int i = 0;
    for (const Scope one : kScopes) {
      if (one == scope) return "/v1/" + std::to_string(i + (is_signed ? 1 : 0)) + "/ann";
      i += 2;
    }
    return "";
  }
  static ClientRequest Request(Scope scope, const std::string& token = "") {
    ClientRequest request;
    request.target = PathOf(scope, false);
    if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
    return request;
  }
  static std::string TextOf(const absl::StatusOr<HttpResponse>& response) {
    if (!response.ok()) return response.status().ToString();
    return std::string(response->body.begin(), response->body.end());
  }
};

TEST_F(AuthorityWorld, TokensAreCutToTheirScopes) {
  TestService service(OneRouteAScope());
  HttpClient& carrier = service.Client("carrier");
  const auto token = [&](const Json& claims) {
    return service.issuer().Token("ann", {ServiceRole::kOperator}, claims);
  };
  EXPECT_EQ(carrier.Send(Request(Scope::kApprove, token({})))->status, 200);
  EXPECT_EQ(carrier.Send(Request(Scope::kApprove, token({{"scope", "admissions:decide"}})))->status,
            200);
  EXPECT_EQ(
      carrier.Send(Request(Scope::kManageKeys, token({{"scope", "admissions:decide"}})))->status,
      403);
  // A claim cannot add a scope that the role lacks.
  EXPECT_EQ(carrier.Send(Request(Scope::kReadAudit, token({{"scope", "audit:read"}})))->status,
            403);
  EXPECT_EQ(carrier.Send(Request(Scope::kApprove, token({{"scope", ""}})))->status, 403);
  const std::string text = TextOf(carrier.Send(Request(Scope::kApprove, token({}))));
  EXPECT_THAT(text, HasSubstr("https://issuer.test#ann"));
  EXPECT_THAT(text, HasSubstr("carrier"));
}

TEST_F(AuthorityWorld, TokensBoundToACertificate) {
  TestService service(OneRouteAScope());
  const auto bound = [&](const std::string& hex) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i < hex.size(); i += 2) {
      bytes.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return service.issuer().Token("ann", {ServiceRole::kOperator},
                                  {{"cnf", {{"x5t#S256", Base64Url(bytes)}}}});
  };
  HttpClient& carrier = service.Client("carrier");
  const auto gate = service.authority().gate();
  EXPECT_EQ(carrier.Send(Request(Scope::kApprove, bound(std::string(64, 'a'))))->status, 401);
  Route route;
  route.scope = Scope::kApprove;
  PeerCertificate certificate{"carrier", std::string(64, 'a'),
                              static_cast<uint64_t>(std::time(nullptr)) + 60};
  const std::map<std::string, std::string> headers = {
      {"authorization", "Bearer " + bound(std::string(64, 'a'))}};
  GateInput input;
  input.route = &route;
  input.headers = &headers;
  input.certificate = &certificate;
  Principal who;
  EXPECT_FALSE(gate(input, &who).has_value());
  EXPECT_EQ(who.name, "https://issuer.test#ann");
  // The certificate expires while the connection is open.
  certificate.expires -= 61;
  EXPECT_EQ(gate(input, &who)->http_status, 401);
}

TEST_F(AuthorityWorld, AWrongTokenNeverFallsBackToTheCertificate) {
  TestService service(OneRouteAScope());
  for (const char* value : {"Bearer x", "Basic YTpi", "Bearer", "x"}) {
    ClientRequest request = Request(Scope::kReadModel);
    EXPECT_EQ(service.Client(ServiceRole::kClient).Send(request)->status, 200);
    request.headers.emplace_back("Authorization", value);
    EXPECT_EQ(service.Client(ServiceRole::kClient).Send(request)->status, 401) << value;
  }
}

TEST_F(AuthorityWorld, RatesOfPrincipalsAndIdentities) {
  TestService::Options options;
  options.principal = {1e-6, 5};
  options.identity = {1e-6, 3};
  TestService service(OneRouteAScope(), options);
  HttpClient& client = service.Client(ServiceRole::kClient);
  HttpClient& other = service.Client(ServiceRole::kRelyingParty);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.Send(Request(Scope::kVerify))->status, 200);
  // Too many verifications of one person, from two callers.
  const auto limited = other.Send(Request(Scope::kVerify));
  ASSERT_TRUE(limited.ok());
  EXPECT_EQ(limited->status, 429);
  EXPECT_THAT(limited->headers, ::testing::Contains(::testing::Key("retry-after")));
  ClientRequest somebody_else = Request(Scope::kVerify);
  somebody_else.target = somebody_else.target.substr(0, somebody_else.target.size() - 3) + "bob";
  EXPECT_EQ(other.Send(somebody_else)->status, 200);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.Send(Request(Scope::kReadModel))->status, 200);
  EXPECT_EQ(client.Send(Request(Scope::kReadModel))->status, 429);
  EXPECT_EQ(other.Send(Request(Scope::kReadModel))->status, 200);
  // Public routes have no limit.
  EXPECT_EQ(client.Send(Request(Scope::kPublic))->status, 200);
}

TEST_F(AuthorityWorld, ARefusedRequestKeepsItsNonce) {
  TestService::Options options;
  options.principal = {0.5, 1};
  TestService service(OneRouteAScope(), options);
  HttpClient& client = service.Client(ServiceRole::kClient);
  ClientRequest request;
  request.method = "POST";
  request.target = PathOf(Scope::kIdentify, true);
  request.sign = false;
  request.headers = {{kNonceHeader, NewNonce()}, {kTimeHeader, std::to_string(std::time(nullptr))}};
  EXPECT_EQ(client.Send(Request(Scope::kReadModel))->status, 200);  // the one of the bucket
  EXPECT_EQ(client.Send(request)->status, 429);
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_EQ(client.Send(request)->status, 200);
}

TEST_F(AuthorityWorld, KeysComeAndGo) {
  TestService service(OneRouteAScope());
  HttpClient& carrier = service.Client("carrier");
  const std::string old = service.issuer().Token("ann", {ServiceRole::kOperator});
  EXPECT_EQ(carrier.Send(Request(Scope::kApprove, old))->status, 200);
  // The file gets another issuer's keys, with other kids.
  const heft::testing::TemporaryFolder elsewhere;
  const testing::TokenIssuer other(elsewhere.path());
  const std::string fresh = other.Token("bob", {ServiceRole::kOperator});
  EXPECT_EQ(carrier.Send(Request(Scope::kApprove, fresh))->status, 401);
  std::filesystem::copy_file(elsewhere / "jwks.json", service.folder() + "/jwks.json",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(service.authority().Reload().ok());
  EXPECT_EQ(carrier.Send(Request(Scope::kApprove, fresh))->status, 200);
  EXPECT_EQ(carrier.Send(Request(Scope::kApprove, old))->status, 401);
  // A file that cannot be read changes nothing.
  ASSERT_TRUE(WriteFileAtomic(service.folder() + "/jwks.json", std::string_view("{}")).ok());
  EXPECT_FALSE(service.authority().Reload().ok());
  EXPECT_EQ(carrier.Send(Request(Scope::kApprove, fresh))->status, 200);
}

// Reading the keys again while new rules arrive keeps the new rules.
TEST_F(AuthorityWorld, KeysReadAgainBringNoOldRulesBack) {
  const heft::testing::TemporaryFolder folder;
  const testing::TokenIssuer issuer(folder.path());
  const std::vector<CertificateRule> with = {{"ann", "", {ServiceRole::kClient}, false}};
  const std::vector<CertificateRule> without = {{"bob", "", {ServiceRole::kClient}, false}};
  AuthorityOptions options;
  options.rules.certificates = with;
  options.rules.tokens = issuer.Rules();
  options.principal.a_second = 0;
  const auto authority = *Authority::Create(options);
  Route route;
  route.scope = Scope::kReadModel;
  const PeerCertificate ann{"ann", std::string(64, 'a'),
                            static_cast<uint64_t>(std::time(nullptr)) + 600};
  const std::map<std::string, std::string> headers;
  GateInput input;
  input.route = &route;
  input.headers = &headers;
  input.certificate = &ann;
  for (int i = 0; i < 50; ++i) {
    (*authority->Prepare({with, options.rules.tokens}))();
    std::atomic<bool> over{false};
    std::thread reading([&] {
      while (!over) EXPECT_TRUE(authority->Reload().ok());
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    (*authority->Prepare({without, options.rules.tokens}))();
    over = true;
    reading.join();
    Principal who;
    const auto refused = authority->gate()(input, &who);
    ASSERT_TRUE(refused.has_value()) << i;
    EXPECT_EQ(refused->http_status, 401);
  }
}

// An API key has the roles of its rule, without a certificate and on this machine only.
TEST_F(AuthorityWorld, AnApiKeyIsForCallersOnThisMachine) {
  AuthorityOptions options;
  const std::string digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  options.rules.api_keys = {{"notebook", digest, {ServiceRole::kClient}}};  // SHA-256 of "hello"
  const auto authority = *Authority::Create(options);
  const auto ask = [&](const std::string& key, const std::string& peer, Scope scope) {
    Route route;
    route.scope = scope;
    const std::map<std::string, std::string> headers = {{"x-api-key", key}};
    GateInput input;
    input.route = &route;
    input.headers = &headers;
    input.peer = peer;
    Principal who;
    const auto refused = authority->gate()(input, &who);
    return refused ? std::to_string(refused->http_status) + " " + refused->message : who.name;
  };
  EXPECT_EQ(ask("hello", "127.0.0.1:9", Scope::kReadModel), "api-key:notebook");
  EXPECT_EQ(ask("hello", "[::1]:9", Scope::kReadModel), "api-key:notebook");
  EXPECT_THAT(ask("hello", "127.0.0.1:9", Scope::kEnrol), HasSubstr("403"));
  EXPECT_THAT(ask("hello", "10.0.0.1:9", Scope::kReadModel), HasSubstr("on this machine"));
  EXPECT_THAT(ask("hello", "local", Scope::kReadModel), HasSubstr("on this machine"));
  EXPECT_THAT(ask("Hello", "127.0.0.1:9", Scope::kReadModel), HasSubstr("401"));
  EXPECT_THAT(ask("", "127.0.0.1:9", Scope::kReadModel), HasSubstr("no client certificate"));
  (*authority->Prepare({}))();
  EXPECT_THAT(ask("hello", "127.0.0.1:9", Scope::kReadModel), HasSubstr("401"));
}

// Two certificates with one common name are two principals if the rules name their fingerprints.
TEST_F(AuthorityWorld, AFingerprintsPrincipalIsNobodyElse) {
  const std::string a(64, 'a'), b(64, 'b');
  AuthorityOptions options;
  options.rules.certificates = {{"", a, {ServiceRole::kClient}, false},
                                {"", b, {ServiceRole::kOperator}, false},
                                {"camera", "", {ServiceRole::kClient}, false}};
  const auto authority = *Authority::Create(options);
  Route route;
  route.scope = Scope::kReadModel;
  const std::map<std::string, std::string> headers;
  std::set<std::string> names;
  for (const std::string& fingerprint : {a, b, std::string(64, 'c')}) {
    const PeerCertificate certificate{"camera", fingerprint,
                                      static_cast<uint64_t>(std::time(nullptr)) + 600};
    GateInput input;
    input.route = &route;
    input.headers = &headers;
    input.certificate = &certificate;
    Principal who;
    ASSERT_FALSE(authority->gate()(input, &who).has_value());
    names.insert(who.name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("camera", "camera/" + a, "camera/" + b));
}

TEST_F(AuthorityWorld, RulesThatAreWrong) {
  const auto why = [](AuthorityOptions options) {
    const auto made = Authority::Create(std::move(options));
    return made.ok() ? "taken" : Message(made.status());
  };
  AuthorityOptions options;
  options.rules.certificates = {{"a", "", {ServiceRole::kClient}, false}};
  EXPECT_EQ(why(options), "taken");
  options.rules.certificates = {{"a", "b", {ServiceRole::kClient}, false}};
  EXPECT_THAT(why(options), HasSubstr("subject or its fingerprint"));
  options.rules.certificates = {{"", "", {ServiceRole::kClient}, false}};
  EXPECT_THAT(why(options), HasSubstr("subject or its fingerprint"));
  options.rules.certificates = {{"a", "", {}, false}};
  EXPECT_THAT(why(options), HasSubstr("no role"));
  options.rules.certificates = {{"a", "", {ServiceRole::kClient}, false}, {"a", "", {}, true}};
  EXPECT_THAT(why(options), HasSubstr("two rules"));
  options.rules.certificates.clear();
  const std::string digest(64, 'a');
  options.rules.api_keys = {{"k", digest, {ServiceRole::kMachine}}};
  EXPECT_THAT(why(options), HasSubstr("has the role machine"));
  options.rules.api_keys = {{"k", digest, {ServiceRole::kClient}},
                            {"l", digest, {ServiceRole::kClient}}};
  EXPECT_THAT(why(options), HasSubstr("two rules"));
  options.rules.api_keys = {{"k", "", {ServiceRole::kClient}}};
  EXPECT_THAT(why(options), HasSubstr("needs a name, a SHA-256 and roles"));
  options.rules.api_keys.clear();
  options.rules.tokens = TokenRules{"iss", "aud", "/nowhere/jwks.json", "roles", {"operator"}};
  EXPECT_FALSE(Authority::Create(options).ok());
  options.rules.tokens->roles = {"machine"};
  EXPECT_THAT(why(options), HasSubstr("machine"));
  options.rules.tokens->roles = {"king"};
  EXPECT_THAT(why(options), HasSubstr("king"));
}

}  // namespace
}  // namespace heft::service
