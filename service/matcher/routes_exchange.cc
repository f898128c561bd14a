// SPDX-License-Identifier: Apache-2.0
// Pending enrolments, and files for the key owner that people carry by hand.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "heft/gallery_admin.h"
#include "service/json.h"
#include "service/matcher/samples.h"
#include "service/matcher/state.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxAdmissions = 200;
constexpr size_t kMaxNames = 50;  // of an enrolment, listed

absl::StatusOr<HttpResponse> ReadAdmissions(MatcherState* state, const HttpRequest& request) {
  HEFT_ASSIGN_OR_RETURN(const uint64_t from, QueryNumber(request, "cursor", 0, uint64_t{1} << 48));
  HEFT_ASSIGN_OR_RETURN(const uint64_t count, QueryNumber(request, "count", 50, kMaxAdmissions));
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, state->galleries.Names());
  Json admissions = Json::array();
  uint64_t at = 0;
  for (const std::string& gallery : names) {
    HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
    HEFT_ASSIGN_OR_RETURN(const auto waiting, PendingEnrolments(address));
    for (const PendingEnrolment& enrolment : waiting) {
      if (at++ < from || admissions.size() == std::max<uint64_t>(count, 1)) continue;
      Json people = Json::array();
      for (const std::string& identity : enrolment.identities) {
        if (people.size() == kMaxNames) break;
        people.push_back({{"identity", identity}});
      }
      const bool is_signed = enrolment.client != SignerKey{};
      admissions.push_back({{"gallery", gallery},
                            {"entry", HexString(enrolment.entry)},
                            {"client", is_signed ? HexString(enrolment.client) : std::string()},
                            {"size", enrolment.identities.size()},
                            {"people", std::move(people)}});
    }
  }
  const uint64_t next = from + admissions.size();
  Json json = {{"total", at}, {"admissions", std::move(admissions)}};
  if (next < at) json["next"] = absl::StrCat(next);
  return JsonResponse(json);
}

absl::StatusOr<HttpResponse> ReadRequestFile(MatcherState* state, const HttpRequest& request,
                                             bool renewal) {
  const std::string& gallery = request.Parameter("gallery");
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  auto file = renewal ? state->exchange.AskRenewal(gallery, request.Query("compact") == "true", {})
                      : state->exchange.Request(gallery);
  HEFT_RETURN_IF_ERROR(file.status());
  return BytesResponse(*std::move(file), std::string(kHeftType));
}

absl::StatusOr<HttpResponse> TakeAdmission(MatcherState* state, const HttpRequest& request) {
  const std::string& gallery = request.Parameter("gallery");
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  HEFT_RETURN_IF_ERROR(
      Intend(state, request, {{"operation", "applyAdmission"}, {"gallery", gallery}}));
  HEFT_ASSIGN_OR_RETURN(const ActivateResult done,
                        state->exchange.Apply(gallery, request.bytes(), request.id));
  return JsonResponse(RecordJson(done));
}

absl::StatusOr<HttpResponse> TakeRenewal(MatcherState* state, const HttpRequest& request) {
  const std::string& gallery = request.Parameter("gallery");
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  HEFT_RETURN_IF_ERROR(
      Intend(state, request, {{"operation", "applyRenewal"}, {"gallery", gallery}}));
  HEFT_ASSIGN_OR_RETURN(const RenewResult done,
                        state->exchange.FinishRenewal(gallery, request.bytes()));
  return JsonResponse(ErasureJson(state->galleries, done));
}

}  // namespace

void AddExchangeRoutes(MatcherState* state, Router* router) {
  router->Add({"GET", "/v1/admissions", "listAdmissions", Scope::kReadAdmissions,
               Answers(state, [state](const HttpRequest& request) {
                 return ReadAdmissions(state, request);
               })});
  const auto give = [&](const char* pattern, const char* operation, bool renewal) {
    Route route = {"GET", pattern, operation, Scope::kExchange,
                   Answers(state, [state, renewal](const HttpRequest& request) {
                     return ReadRequestFile(state, request, renewal);
                   })};
    route.audited = true;
    router->Add(std::move(route));
  };
  give("/v1/galleries/{gallery}/admission", "readAdmissionRequest", false);
  give("/v1/galleries/{gallery}/renewal", "readRenewalRequest", true);
  const auto take = [&](const char* pattern, const char* operation, auto function) {
    Route route = {"POST", pattern, operation, Scope::kExchange,
                   AnswersOnce(state, [state, function](const HttpRequest& request) {
                     return function(state, request);
                   })};
    route.most_bytes = state->config.key_bytes;
    route.signed_request = true;
    route.audited = true;
    router->Add(std::move(route));
  };
  take("/v1/galleries/{gallery}/admission", "applyAdmission", TakeAdmission);
  take("/v1/galleries/{gallery}/renewal", "applyRenewal", TakeRenewal);
}

}  // namespace heft::service
