// SPDX-License-Identifier: Apache-2.0
#include "owner/budget_use.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "fusion/recovery_figures.h"

namespace heft {
namespace {

BudgetUse::Client Describe(const ClientId& client, const QueryLedger::ClientUse& use,
                           const BudgetLimits& limits, uint64_t now, uint64_t clock) {
  const uint64_t size = ClientBits(limits, client);
  BudgetUse::Client out;
  out.client = client;
  out.openings = use.openings;
  out.slots = use.slots;
  const uint64_t spent = (use.bucket.Spent(now, size) + kMilli - 1) / kMilli;
  out.bits_left = size - std::min(size, spent);
  out.full_at = clock + (use.bucket.ReadyAt(now, size, size).value_or(now) - now);
  out.rejections_left = limits.rejections;
  return out;
}

}  // namespace

double ReconstructionCosine(uint64_t scores, uint32_t gamma) {
  return std::sqrt(std::min(1.0, static_cast<double>(scores) / gamma));
}

BudgetLimits DefaultLimits(const Model& model) {
  BudgetLimits limits;
  const auto figures = FiguresOf(model);
  limits.scores = figures ? figures->AllowedScores() : 0;
  return limits;
}

std::string WhyNoScores(const Model& model) {
  const auto figures = FiguresOf(model);
  const char* const why =
      !figures ? "the model holds no measurement of what scores give away, so no score of a person "
                 "may be opened"
      : figures->AllowedScores() == 0
          ? "training measured that no score of a person may be opened without giving the "
            "template away"
          : "the budget is set to no score of a person";
  return absl::StrCat(why,
                      "; decisions go on (without --scores). To publish scores on purpose, allow N "
                      "of each person: heft budget --set scores=N");
}

BudgetUse Summarise(const QueryJournal::Status& status, const Model& model) {
  BudgetUse out;
  const QueryLedger& ledger = status.ledger;
  const auto it = ledger.models.find(model.Id());
  const QueryLedger::ModelUse use =
      it == ledger.models.end() ? QueryLedger::ModelUse() : it->second;
  out.limits = use.LimitsFor(DefaultLimits(model));
  out.identifications = use.identifications;
  out.verifications = use.verifications;
  out.openings = ledger.Openings();
  out.identities = use.identities.size();
  for (const auto& [tag, of] : use.identities) {
    out.scores = std::max(out.scores, of.scores);
    out.decisions = std::max(out.decisions, of.decisions);
  }
  out.reconstruction_cosine = ReconstructionCosine(out.limits.scores, model.gamma);
  const uint64_t now = ledger.reckoning.At(status.now).time;
  for (const auto& [client, of] : use.clients) {
    out.clients.push_back(Describe(client, of, out.limits, now, status.now));
  }
  const uint64_t most = out.limits.rejections;
  for (const auto& [key, share] : use.shares) {
    // Both are in the order of the clients' keys.
    const auto client =
        std::ranges::lower_bound(out.clients, key.second, {}, &BudgetUse::Client::client);
    if (client == out.clients.end() || client->client != key.second) continue;
    const uint64_t spent = (share.rejections.Spent(now, most) + kMilli - 1) / kMilli;
    client->rejections_left = std::min(client->rejections_left, most - std::min(most, spent));
  }
  for (const QueryLedger::Restart& restart : ledger.restarts) {
    out.restarts.push_back({restart.time, restart.reason});
  }
  out.restart_count = status.restarts;
  out.gallery_id = ledger.gallery;
  out.key_bits = (ledger.told + kKeyUnits - 1) / kKeyUnits;
  out.proofs = ledger.proofs;
  out.entries = status.sequence;
  out.last_entry = ledger.time;
  if (ledger.successor != KeyId{}) out.successor = ledger.successor;
  return out;
}

}  // namespace heft
