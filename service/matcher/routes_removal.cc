// SPDX-License-Identifier: Apache-2.0
// Persons go, for good; and the receipts that say so.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/identity.h"
#include "base/status.h"
#include "heft/gallery_admin.h"
#include "heft/removal.h"
#include "service/access/jwt.h"
#include "service/matcher/samples.h"
#include "service/matcher/state.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

using nlohmann::ordered_json;

constexpr uint64_t kMostListed = 1000;

ordered_json RemovedJson(const std::string& gallery, const RemoveResult& done) {
  return {{"gallery", gallery},
          {"removed", done.removed},
          {"erased", done.erased},
          {"leaving", done.leaving},
          {"rejected", done.rejected},
          {"generation", done.generation},
          {"receipt_ids", done.persons},
          {"overwritten", done.overwritten.ok()},
          {"receipts", ReceiptsJson(done.receipts)}};
}

// Where somebody is of whom something is to go.
absl::StatusOr<std::vector<std::string>> WhereIs(MatcherState* state, const HttpRequest& request,
                                                 const std::string& person) {
  const std::string asked = request.Query("gallery");
  std::vector<std::string> names = {asked}, out;
  if (asked.empty()) {
    HEFT_ASSIGN_OR_RETURN(names, state->galleries.Names());
  } else {
    HEFT_RETURN_IF_ERROR(state->galleries.Newest(asked).status());
  }
  for (const std::string& gallery : names) {
    HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
    HEFT_ASSIGN_OR_RETURN(const PersonInfo info, DescribePerson(address, person));
    if (!info.templates.empty() || info.waiting > 0) out.push_back(gallery);
  }
  if (out.empty()) return absl::NotFoundError("nobody of that name is enrolled");
  return out;
}

// Renews the blocks that somebody leaves; its result has the receipts.
Tasks::Work RenewalOf(MatcherState* state, std::vector<std::string> galleries,
                      ordered_json outcomes) {
  return [state, galleries = std::move(galleries), outcomes = std::move(outcomes)](
             const Monitor& monitor) -> absl::StatusOr<nlohmann::ordered_json> {
    ordered_json receipts = ordered_json::array();
    uint64_t leaving = 0;
    for (const std::string& gallery : galleries) {
      HEFT_ASSIGN_OR_RETURN(const Exchange::Renewed done,
                            state->exchange.RenewAll(gallery, /*compact=*/false, monitor));
      for (const auto& receipt : ReceiptsJson(done.receipts)) receipts.push_back(receipt);
      leaving += done.leaving;
    }
    return ordered_json{
        {"galleries", outcomes}, {"receipts", std::move(receipts)}, {"leaving", leaving}};
  };
}

absl::StatusOr<HttpResponse> RemovePerson(MatcherState* state, const HttpRequest& request) {
  const std::string& person = request.Parameter("person");
  HEFT_RETURN_IF_ERROR(CheckIdentity(person));
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> galleries, WhereIs(state, request, person));
  const auto engine = state->engine.Get();
  RemoveOptions options;
  options.trust = &engine->trust;
  options.authorisation.assign(request.bytes().begin(), request.bytes().end());
  HEFT_RETURN_IF_ERROR(Intend(
      state, request, {{"operation", "remove"}, {"person", person}, {"galleries", galleries}}));
  ordered_json outcomes = ordered_json::array();
  std::vector<std::string> left;
  for (const std::string& gallery : galleries) {
    HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
    HEFT_ASSIGN_OR_RETURN(const RemoveResult done,
                          Remove(engine->server, address, {person}, options));
    outcomes.push_back(RemovedJson(gallery, done));
    if (done.leaving > 0) left.push_back(gallery);
    if (const absl::Status kept = RememberGeneration(address); !kept.ok()) {
      LogLine(LogLevel::kWarning, "how far a gallery has come is not remembered",
              {{"gallery", gallery}, {"why", std::string(kept.message())}});
    }
  }
  state->exchange.Wake();
  if (left.empty() || !state->exchange.has_decider()) {
    return JsonResponse({{"personId", person}, {"galleries", std::move(outcomes)}});
  }
  HEFT_ASSIGN_OR_RETURN(
      const std::string task,
      state->tasks.Start("deleteAll", request.who, RenewalOf(state, left, std::move(outcomes))));
  return Accepted(task);
}

absl::StatusOr<HttpResponse> ReadReceipts(MatcherState* state, const HttpRequest& request) {
  const std::string gallery = request.Query("gallery");
  if (gallery.empty()) return absl::InvalidArgumentError("gallery: say of which (?gallery=NAME)");
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
  HEFT_ASSIGN_OR_RETURN(const uint64_t from, QueryNumber(request, "cursor", 0, uint64_t{1} << 48));
  HEFT_ASSIGN_OR_RETURN(const uint64_t count, QueryNumber(request, "count", 100, kMostListed));
  HEFT_ASSIGN_OR_RETURN(const auto receipts, Receipts(address));
  ordered_json list = ordered_json::array();
  uint64_t at = from;
  for (; at < receipts.size() && list.size() < std::max<uint64_t>(count, 1); ++at) {
    HEFT_ASSIGN_OR_RETURN(const ErasureReceipt says, ReadReceipt(receipts[at], "a receipt"));
    list.push_back({{"generation", says.generation},
                    {"removed", says.removed},
                    {"erased", says.erased},
                    {"receipt_ids", says.persons},
                    {"receipt", Base64(receipts[at])}});
  }
  ordered_json json = {{"receipts", std::move(list)}};
  if (at < receipts.size()) json["next"] = absl::StrCat(at);
  return JsonResponse(json);
}

}  // namespace

void AddRemovalRoutes(MatcherState* state, Router* router) {
  Route remove = {"DELETE", "/v1/persons/{person}", "deleteAll", Scope::kRemove, {}};
  remove.handler =
      Answers(state, [state](const HttpRequest& request) { return RemovePerson(state, request); });
  remove.signed_request = true;
  remove.audited = true;
  router->Add(std::move(remove));
  router->Add({"GET", "/v1/receipts", "listReceipts", Scope::kReadAudit,
               Answers(state, [state](const HttpRequest& request) {
                 return ReadReceipts(state, request);
               })});
}

}  // namespace heft::service
