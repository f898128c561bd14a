// SPDX-License-Identifier: Apache-2.0
// POST /v1/exchange/renewals; GET /v1/budget; the decider's metrics.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/status.h"
#include "service/access/relying.h"
#include "service/decider/routes.h"
#include "service/json.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxRenewal = uint64_t{1} << 29;

// RenewTogether renews, if the key is shared with the fellows.
absl::StatusOr<RenewedBlocks> RenewTogether(const DeciderState& state, const HttpRequest& request) {
  if (!state.fellows) return state.owner.Renew(request.bytes(), "the request");
  const std::vector<uint8_t> file(request.bytes().begin(), request.bytes().end());
  const PartSource source =
      state.fellows->SourceFor({.terms = {{"question", "renewal"}},
                                .files = {{"request", "", std::string(kHeftType), file}},
                                .digest = HashBytes(file),
                                .request_id = request.id,
                                .may_take_long = true,
                                .deadline = request.deadline});
  return state.owner.Renew(request.bytes(), "the request", source);
}

absl::StatusOr<std::vector<uint8_t>> Renew(DeciderService* service, const HttpRequest& request) {
  const std::shared_ptr<const DeciderState> state = service->state();
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(request.bytes(), "the request"));
  HEFT_RETURN_IF_ERROR(state->Rule(file.statement.gallery).status());
  HEFT_ASSIGN_OR_RETURN(RenewedBlocks renewed, RenewTogether(*state, request));
  Json line = Recorded("renewal", request);
  line["gallery_id"] = HexString(file.statement.gallery);
  line["blocks"] = renewed.blocks;
  line["templates"] = renewed.templates;
  HEFT_RETURN_IF_ERROR(service->base->audit_log().Append(std::move(line)));
  service->base->metrics().Add("heft_decider_renewed_blocks_total", {},
                               static_cast<double>(renewed.blocks));
  return std::move(renewed.signed_renewal);
}

HttpResponse PostRenewal(DeciderService* service, const HttpRequest& request) {
  if (auto refused = RefuseOther(request)) return *std::move(refused);
  auto bytes = Renew(service, request);
  return bytes.ok() ? BytesResponse(*std::move(bytes), std::string(kHeftType))
                    : ErrorResponse(bytes.status());
}

HttpResponse GetBudget(DeciderService* service) {
  const auto use = service->state()->owner.Budget();
  if (!use.ok()) return ErrorResponse(use.status());
  return JsonResponse(RecordJson(*use));
}

Json Fact(const char* label, std::string value, std::string note, bool warning = false) {
  return {{"label", label},
          {"value", std::move(value)},
          {"note", std::move(note)},
          {"warning", warning}};
}

// OwnersFact: of a shared key: who opens with this owner, and who did not answer.
Json OwnersFact(const DeciderState& state, const SharedKey& key) {
  const OwnerSet away = state.fellows ? state.fellows->Away() : OwnerSet();
  const std::string renewed = key.renewal == 0
                                  ? "shares as they were made"
                                  : absl::StrCat("shares renewed ", key.renewal, " times");
  const std::string answers =
      away.empty() ? "" : absl::StrCat("; no answer lately: owner ", absl::StrJoin(away, ", "));
  return Fact("Owners",
              absl::StrCat("owner ", key.owner, " of ", key.owners, ", ", key.threshold, " open"),
              renewed + answers, !away.empty());
}

}  // namespace

std::optional<HttpResponse> RefuseOther(const HttpRequest& request) {
  if (request.Header("content-type") == kHeftType) return std::nullopt;
  return ErrorResponse(
      415, "INVALID_ARGUMENT",
      absl::StrCat("Content-Type: a HEFT file as it is, ", std::string(kHeftType)));
}

Json Recorded(const char* event, const HttpRequest& request) {
  Json line = {{"event", event}, {"request", request.id}, {"principal", request.who.name}};
  const std::string behalf = request.Header(absl::AsciiStrToLower(kOnBehalfOfHeader));
  if (!behalf.empty() && request.who.Has(Scope::kExchange)) {
    line["for"] = DecodePercent(behalf).value_or(behalf);
  }
  return line;
}

void RegisterDeciderMetrics(DeciderService* service) {
  Metrics& metrics = service->base->metrics();
  metrics.Counter("heft_decider_decisions_total", "Opened replies, by gallery, kind and decision");
  metrics.Counter("heft_decider_admissions_total", "Templates by verdict");
  metrics.Counter("heft_decider_renewed_blocks_total", "Renewed blocks");
  metrics.Counter("heft_decider_parts_total", "Partial openings for other owners, by result");
  metrics.Gauge("heft_decider_fellows_away", "Other owners that did not answer lately");
  metrics.Gauge("heft_decider_pending", "Enrolments that wait for a manual decision");
  metrics.Gauge("heft_decider_oldest_pending_seconds", "Age of the oldest of them in seconds");
  metrics.Gauge("heft_decider_remembered_answers", "Stored answers that can be repeated");
  metrics.Gauge("heft_decider_openings", "Replies ever opened under the key");
  metrics.Gauge("heft_decider_proofs", "Proofs of enrolments ever opened under the key");
  metrics.BeforeReading([service, &metrics] {
    const std::vector<PendingEntry> pending = service->queue->List();
    uint64_t oldest = UnixTime();
    for (const PendingEntry& w : pending) oldest = std::min(oldest, w.received);
    metrics.Set("heft_decider_pending", {}, static_cast<double>(pending.size()));
    metrics.Set("heft_decider_oldest_pending_seconds", {},
                static_cast<double>(UnixTime() - oldest));
    metrics.Set("heft_decider_remembered_answers", {},
                static_cast<double>(service->answers->size()));
    const std::shared_ptr<const DeciderState> state = service->state();
    if (state->fellows) {
      metrics.Set("heft_decider_fellows_away", {},
                  static_cast<double>(state->fellows->Away().size()));
    }
    const auto budget = state->owner.Budget();
    if (budget.ok()) {
      metrics.Set("heft_decider_openings", {}, static_cast<double>(budget->openings));
      metrics.Set("heft_decider_proofs", {}, static_cast<double>(budget->proofs));
    }
  });
}

Json DeciderFacts(DeciderService* service) {
  const std::shared_ptr<const DeciderState> state = service->state();
  Json facts = Json::array();
  const size_t pending = service->queue->size();
  facts.push_back(Fact("Pending", std::to_string(pending),
                       pending == 0 ? "no enrolment is pending" : "enrolments to decide",
                       pending > 0));
  const std::string key = HexString(state->owner.key_id()).substr(0, 8);
  const auto budget = state->owner.Budget();
  facts.push_back(Fact("Key", key,
                       budget.ok() ? absl::StrCat(budget->openings, " replies opened")
                                   : std::string(budget.status().message()),
                       !budget.ok() || budget->successor.has_value()));
  if (const auto shared = state->owner.shared()) facts.push_back(OwnersFact(*state, *shared));
  facts.push_back(Fact("Galleries", std::to_string(state->config.RuledGalleries()),
                       "with a rule for decisions", state->config.galleries.empty()));
  return facts;
}

void AddKeyRoutes(DeciderService* service, Router* router) {
  router->Add({.method = "POST",
               .pattern = "/v1/exchange/renewals",
               .operation = "exchangeRenewal",
               .scope = Scope::kExchange,
               .handler = [=](const HttpRequest& r) { return PostRenewal(service, r); },
               .most_bytes = kMaxRenewal,
               .signed_request = true});
  router->Add({.method = "GET",
               .pattern = "/v1/budget",
               .operation = "readBudget",
               .scope = Scope::kReadAudit,
               .handler = [=](const HttpRequest&) { return GetBudget(service); }});
}

void AddDeciderRoutes(DeciderService* service, Router* router) {
  AddDecisionRoutes(service, router);
  AddAdmissionRoutes(service, router);
  AddKeyRoutes(service, router);
  AddPartRoutes(service, router);
}

}  // namespace heft::service
