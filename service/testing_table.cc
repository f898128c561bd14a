// SPDX-License-Identifier: Apache-2.0
// CheckAccessTable: routes, roles and credentials, compared with ScopesOf.
#include <ctime>

#include "absl/strings/str_cat.h"
#include "service/access/replay.h"
#include "service/json.h"
#include "service/testing.h"
#include "service/text.h"

namespace heft::service::testing {
namespace {

constexpr int kReached = 299;  // the answer of every handler

enum class Credential {
  kCertificate,  // of the role
  kToken,        // of the role, with the carrier's certificate
  kNone,         // the carrier's certificate and nothing else
  kStranger,     // a certificate that no rule names
  kExpired,      // tokens
  kForged,
  kOtherAudience,
  kOverCertificate,  // a valid token with a certificate that may carry none
  kNoNonce,          // with the role's certificate
  kStale,
  kReplayed,
};
constexpr Credential kCredentials[] = {
    Credential::kCertificate,   Credential::kToken,           Credential::kNone,
    Credential::kStranger,      Credential::kExpired,         Credential::kForged,
    Credential::kOtherAudience, Credential::kOverCertificate, Credential::kNoNonce,
    Credential::kStale,         Credential::kReplayed};
constexpr const char* kNames[] = {"certificate",
                                  "token",
                                  "no credential",
                                  "stranger",
                                  "expired token",
                                  "forged token",
                                  "token of another audience",
                                  "token over a certificate that carries none",
                                  "no nonce",
                                  "stale time",
                                  "replayed nonce"};

// Wanted: the status that the table expects.
int Wanted(const Route& route, ServiceRole role, Credential credential) {
  if (route.scope == Scope::kPublic && !route.signed_request) return kReached;
  const bool may = route.scope == Scope::kPublic || ScopesOf(role).contains(route.scope);
  switch (credential) {
    case Credential::kCertificate:
      return may ? kReached : 403;
    case Credential::kToken:
      // A token cannot grant the role of a daemon.
      return IsDaemon(role) ? 401 : may ? kReached : 403;
    case Credential::kNoNonce:
      return !may ? 403 : route.signed_request ? 400 : kReached;
    case Credential::kStale:
    case Credential::kReplayed:
      return !may ? 403 : route.signed_request ? 401 : kReached;
    default:
      return 401;
  }
}

class Table {
 public:
  explicit Table(const Router& router) : service_(Answering(router)) {
    for (const ServiceRole role : kServiceRoles) {
      const auto now = static_cast<int64_t>(std::time(nullptr));
      const TokenIssuer& issuer = service_.issuer();
      tokens_[{role, Credential::kToken}] = issuer.Token("somebody", {role});
      tokens_[{role, Credential::kOverCertificate}] = issuer.Token("somebody", {role});
      tokens_[{role, Credential::kExpired}] =
          issuer.Token("somebody", {role}, {{"iat", now - 7200}, {"exp", now - 3600}});
      tokens_[{role, Credential::kForged}] = issuer.Forged("somebody", {role});
      tokens_[{role, Credential::kOtherAudience}] =
          issuer.Token("somebody", {role}, {{"aud", "another"}});
    }
  }

  void Ask(const Route& route, ServiceRole role, Credential credential, AccessTable* table) {
    const std::string name =
        absl::StrCat(route.method, " ", route.pattern, " as ", std::string(ServiceRoleName(role)),
                     " with ", kNames[static_cast<int>(credential)]);
    ClientRequest request;
    request.method = route.method;
    for (const std::string_view part : Split(std::string_view(route.pattern).substr(1), '/')) {
      if (request.target == "/") request.target = "";
      absl::StrAppend(&request.target, "/", part.starts_with('{') ? "one" : std::string(part));
    }
    Dress(role, credential, &request);
    if (credential == Credential::kReplayed) {
      (void)ClientOf(role, credential).Send(request);  // the first time it is good
    }
    const auto response = ClientOf(role, credential).Send(request);
    const int wanted = Wanted(route, role, credential);
    ++table->cells;
    if (!response.ok()) {
      table->wrong.push_back(absl::StrCat(name, ": ", Message(response.status())));
    } else if (response->status != wanted) {
      table->wrong.push_back(
          absl::StrCat(name, ": ", response->status, " where ", wanted, " was wanted"));
    }
  }

 private:
  // Answering: the same routes with handlers that only report that they were reached.
  static Router Answering(const Router& router) {
    Router out;
    for (Route route : router.routes()) {
      route.handler = [](const HttpRequest&) { return JsonResponse(Json::object(), kReached); };
      out.Add(std::move(route));
    }
    return out;
  }

  HttpClient& ClientOf(ServiceRole role, Credential credential) {
    switch (credential) {
      case Credential::kCertificate:
      case Credential::kOverCertificate:
      case Credential::kNoNonce:
      case Credential::kStale:
      case Credential::kReplayed:
        return service_.Client(role);
      case Credential::kStranger:
        return service_.Client("stranger");
      default:
        return service_.Client("carrier");
    }
  }

  void Dress(ServiceRole role, Credential credential, ClientRequest* request) {
    if (const auto token = tokens_.find({role, credential}); token != tokens_.end()) {
      request->headers.emplace_back("Authorization", "Bearer " + token->second);
    }
    const auto now = static_cast<uint64_t>(std::time(nullptr));
    if (credential == Credential::kNoNonce) request->sign = false;
    if (credential == Credential::kStale || credential == Credential::kReplayed) {
      const uint64_t time = credential == Credential::kStale ? now - 2 * kReplayWindow : now;
      request->sign = false;
      request->headers.emplace_back(kNonceHeader, NewNonce());
      request->headers.emplace_back(kTimeHeader, absl::StrCat(time));
    }
  }

  TestService service_;
  std::map<std::pair<ServiceRole, Credential>, std::string> tokens_;
};

}  // namespace

AccessTable CheckAccessTable(const Router& router) {
  AccessTable table;
  Table world(router);
  for (const Route& route : router.routes()) {
    for (const ServiceRole role : kServiceRoles) {
      for (const Credential credential : kCredentials) world.Ask(route, role, credential, &table);
    }
  }
  return table;
}

}  // namespace heft::service::testing
