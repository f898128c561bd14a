// SPDX-License-Identifier: Apache-2.0
// Removal of persons and of pending enrolments, and the receipts for it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/identity.h"
#include "base/status.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "heft/trust.h"
#include "service/access/jwt.h"
#include "service/json.h"
#include "service/matcher/samples.h"
#include "service/matcher/started_requests.h"
#include "service/matcher/state.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxReceipts = 1000;
constexpr char kGoesOn[] =
    "; the person is no longer matched, and the service repeats the erasure until nothing is left: "
    "receipts are at /v1/receipts";

Json RemovedJson(const MatcherState& state, const std::string& gallery, const RemoveResult& done) {
  Json json = {{"gallery", gallery}};
  json.update(ErasureJson(state.galleries, done));
  return json;
}

// WhereIs: the galleries that hold the person to remove.
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
    if (!info.templates.empty() || info.pending > 0) out.push_back(gallery);
  }
  if (out.empty()) return absl::NotFoundError("no person of that name is enrolled");
  return out;
}

// Left: a gallery whose blocks still hold ciphertexts of removed persons.
struct Left {
  std::string gallery;
  std::vector<std::string> persons;  // as named in receipts
};

// ReceiptsOf: all receipts that name one of the persons, after any renewal.
absl::Status ReceiptsOf(const Galleries& galleries, const Left& left, Json* list) {
  HEFT_ASSIGN_OR_RETURN(const std::string address, galleries.Address(left.gallery));
  HEFT_ASSIGN_OR_RETURN(const auto receipts, Receipts(address));
  for (const std::vector<uint8_t>& receipt : receipts) {
    HEFT_ASSIGN_OR_RETURN(const ErasureReceipt says, ReadReceipt(receipt, "a receipt"));
    const bool his = std::ranges::any_of(left.persons, [&](const std::string& person) {
      return std::ranges::count(says.persons, person) > 0;
    });
    if (his) list->push_back(Base64(receipt));
  }
  return absl::OkStatus();
}

// Renews the blocks that the persons leave; the result has the receipts. If it fails, the upkeep
// continues.
Tasks::Work RenewalOf(MatcherState* state, std::vector<Left> left, Json outcomes) {
  return [state, left = std::move(left),
          outcomes = std::move(outcomes)](const Monitor& monitor) -> absl::StatusOr<Json> {
    Json receipts = Json::array();
    uint64_t leaving = 0;
    for (const Left& each : left) {
      const auto done = state->exchange.RenewAll(each.gallery, /*compact=*/false, monitor);
      if (!done.ok()) {
        return absl::Status(done.status().code(), absl::StrCat(done.status().message(), kGoesOn));
      }
      if (!done->overwritten.ok()) state->upkeep.Owe(each.gallery);
      HEFT_RETURN_IF_ERROR(ReceiptsOf(state->galleries, each, &receipts));
      leaving += done->leaving;
    }
    return Json{{"galleries", outcomes}, {"receipts", std::move(receipts)}, {"leaving", leaving}};
  };
}

// RemoveEach: from one gallery after the other. A later failure does not undo earlier removals.
absl::StatusOr<Json> RemoveEach(MatcherState* state, const std::string& person,
                                const std::vector<std::string>& galleries, const Engine& engine,
                                const std::vector<uint8_t>& authorisation,
                                std::vector<Left>* left) {
  Json outcomes = Json::array();
  for (const std::string& gallery : galleries) {
    HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
    const auto done = Desk(engine).Remove(address, {person}, authorisation);
    if (!done.ok() && !outcomes.empty()) {
      return absl::Status(
          done.status().code(),
          absl::StrCat(done.status().message(), "; from the galleries before ", gallery,
                       " (in alphabetical order) the person is removed: repeat for the others"));
    }
    HEFT_RETURN_IF_ERROR(done.status());
    outcomes.push_back(RemovedJson(*state, gallery, *done));
    if (done->leaving > 0) left->push_back({gallery, done->persons});
    if (!done->overwritten.ok()) state->upkeep.Owe(gallery);
    if (const absl::Status kept = RememberGeneration(address); !kept.ok()) {
      LogLine(LogLevel::kWarning, "the generation of a gallery could not be recorded",
              {{"gallery", gallery}, {"why", std::string(kept.message())}});
    }
  }
  return outcomes;
}

Hash WhatIsRemoved(const HttpRequest& request, const std::string& key) {
  const std::string text = absl::StrCat(
      "HEFT removal\n", request.who.name.size(), "\n", request.who.name, "\n", key.size(), "\n",
      key, "\n", request.Query("gallery"), "\n", request.Parameter("person"));
  return HashBytes(AsBytes(text));
}

absl::StatusOr<HttpResponse> RemovePerson(MatcherState* state, const HttpRequest& request) {
  const std::string& person = request.Parameter("person");
  HEFT_RETURN_IF_ERROR(CheckIdentity(person));
  if (!state->changes.TryTake()) return absl::ResourceExhaustedError(kManyChanges);
  const Leave leave{&state->changes};
  HEFT_ASSIGN_OR_RETURN(const std::string key, IdempotencyKeyOf(request));
  const StartedRequests started(state->config.state, "removals");
  const Hash what = WhatIsRemoved(request, key);
  const bool again = !key.empty() && started.Has(what);
  const auto where = WhereIs(state, request, person);
  if (absl::IsNotFound(where.status()) && again) {
    // An earlier request removed the person, and its answer was lost.
    return JsonResponse({{"personId", person}, {"galleries", Json::array()}});
  }
  HEFT_RETURN_IF_ERROR(where.status());
  const std::vector<std::string>& galleries = *where;
  const auto engine = state->engine.Get();
  const std::vector<uint8_t> authorisation(request.bytes().begin(), request.bytes().end());
  if (galleries.size() > 1 && engine->trust->Lists(Role::kRegistrar)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the person is in ", galleries.size(),
                     " galleries, and a registrar's authorisation is for one of them: remove from "
                     "one after the other (?gallery=NAME)"));
  }
  HEFT_RETURN_IF_ERROR(Intend(
      state, request, {{"operation", "remove"}, {"person", person}, {"galleries", galleries}}));
  if (!key.empty()) HEFT_RETURN_IF_ERROR(started.Begin(what));
  std::vector<Left> left;
  auto outcomes = RemoveEach(state, person, galleries, *engine, authorisation, &left);
  state->exchange.Wake();
  // The person is still there, so this request did not remove them.
  if (!outcomes.ok() && !key.empty() && !again && WhereIs(state, request, person).ok()) {
    started.End(what);
  }
  HEFT_RETURN_IF_ERROR(outcomes.status());
  if (!left.empty() && state->exchange.has_decider()) {
    const auto task =
        state->tasks.Start("deleteAll", request.who, RenewalOf(state, left, *outcomes));
    if (task.ok()) return Accepted(*task);
    // No error, because the person is removed: the upkeep renews the blocks as well.
  }
  return JsonResponse({{"personId", person}, {"galleries", *std::move(outcomes)}});
}

Hash WhatIsRejected(const HttpRequest& request, const std::string& key) {
  const std::string text = absl::StrCat(
      "HEFT rejection\n", request.who.name.size(), "\n", request.who.name, "\n", key.size(), "\n",
      key, "\n", request.Parameter("gallery"), "\n", request.Parameter("entry"));
  return HashBytes(AsBytes(text));
}

// RejectEntry: a pending enrolment goes, also a damaged one, which the key owner cannot decide.
absl::StatusOr<HttpResponse> RejectEntry(MatcherState* state, const HttpRequest& request) {
  const std::string& gallery = request.Parameter("gallery");
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
  const std::string& text = request.Parameter("entry");
  const auto entry = ParseSignerKey(text);
  if (!entry.ok() || text.size() != 2 * entry->size()) {
    return absl::InvalidArgumentError(
        "entry: give the 64 hexadecimal digits of a pending enrolment, as /v1/admissions and the "
        "check of a gallery show them");
  }
  if (!state->changes.TryTake()) return absl::ResourceExhaustedError(kManyChanges);
  const Leave leave{&state->changes};
  HEFT_ASSIGN_OR_RETURN(const std::string key, IdempotencyKeyOf(request));
  const StartedRequests started(state->config.state, "removals");
  const Hash what = WhatIsRejected(request, key);
  const bool again = !key.empty() && started.Has(what);
  HEFT_RETURN_IF_ERROR(
      Intend(state, request,
             {{"operation", "rejectPending"}, {"gallery", gallery}, {"entry", HexString(*entry)}}));
  if (!key.empty()) HEFT_RETURN_IF_ERROR(started.Begin(what));
  const std::vector<Digest> entries = {*entry};
  auto done = RejectPending(state->engine.Get()->server, address, entries);
  // An earlier request has removed it, and its answer was lost.
  if (absl::IsNotFound(done.status()) && again) done = RemoveResult();
  if (!done.ok() && !key.empty()) started.End(what);
  HEFT_RETURN_IF_ERROR(done.status());
  if (!done->overwritten.ok()) state->upkeep.Owe(gallery);
  state->exchange.Wake();
  return JsonResponse(RemovedJson(*state, gallery, *done));
}

absl::StatusOr<HttpResponse> ReadReceipts(MatcherState* state, const HttpRequest& request) {
  const std::string gallery = request.Query("gallery");
  if (gallery.empty()) return absl::InvalidArgumentError("gallery: name one (?gallery=NAME)");
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
  HEFT_ASSIGN_OR_RETURN(const uint64_t from, QueryNumber(request, "cursor", 0, uint64_t{1} << 48));
  HEFT_ASSIGN_OR_RETURN(const uint64_t count, QueryNumber(request, "count", 100, kMaxReceipts));
  HEFT_ASSIGN_OR_RETURN(const auto receipts, Receipts(address));
  Json list = Json::array();
  uint64_t at = from;
  for (; at < receipts.size() && list.size() < std::max<uint64_t>(count, 1); ++at) {
    HEFT_ASSIGN_OR_RETURN(const ErasureReceipt says, ReadReceipt(receipts[at], "a receipt"));
    Json json = RecordJson(says);
    json["receipt"] = Base64(receipts[at]);
    list.push_back(std::move(json));
  }
  Json json = {{"receipts", std::move(list)}};
  if (at < receipts.size()) json["next"] = absl::StrCat(at);
  return JsonResponse(json);
}

}  // namespace

void AddRemovalRoutes(MatcherState* state, Router* router) {
  Route remove = {"DELETE", "/v1/persons/{person}", "deleteAll", Scope::kRemove, {}};
  remove.handler = AnswersOnce(
      state, [state](const HttpRequest& request) { return RemovePerson(state, request); });
  remove.signed_request = true;
  remove.audited = true;
  router->Add(std::move(remove));
  Route reject = {"DELETE",
                  "/v1/galleries/{gallery}/pending/{entry}",
                  "rejectPending",
                  Scope::kManageGallery,
                  {}};
  reject.handler = AnswersOnce(
      state, [state](const HttpRequest& request) { return RejectEntry(state, request); });
  reject.signed_request = true;
  reject.audited = true;
  router->Add(std::move(reject));
  router->Add({"GET", "/v1/receipts", "listReceipts", Scope::kReadAudit,
               Answers(state, [state](const HttpRequest& request) {
                 return ReadReceipts(state, request);
               })});
}

}  // namespace heft::service
