// SPDX-License-Identifier: Apache-2.0
// Which blocks the key owner renews, and how its answer changes them (gallery/removal.h).
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gallery/receipt.h"
#include "gallery/removal.h"

namespace heft {
namespace {

// Number of live positions of each block that has been filled.
absl::StatusOr<std::vector<uint32_t>> Live(GalleryChange* change, uint64_t block) {
  const uint64_t per_block = change->head().block_places;
  std::vector<uint32_t> live;
  for (uint64_t i = 0; i < per_block; ++i) {
    HEFT_ASSIGN_OR_RETURN(const Resident* r, change->Place(block * per_block + i));
    if (r->state == PlaceState::kLive) live.push_back(static_cast<uint32_t>(i));
  }
  return live;
}

}  // namespace

size_t MostRenewedAtOnce(const Instance& matching) {
  constexpr size_t kMax = 64, kBytes = size_t{256} << 20;
  return std::clamp<size_t>(kBytes / RenewalSourceBytes(matching), 2, kMax);
}

absl::StatusOr<RenewalPlan> PlanRenewal(GalleryChange* change, const Instance& instance,
                                        bool compact) {
  RenewalPlan plan;
  const size_t most = MostRenewedAtOnce(instance);
  const uint64_t per_block = change->head().block_places;
  const auto& infos = change->infos();
  std::vector<size_t> sparse;
  const auto add = [&](uint64_t block, ExchangeRecord::Target* target,
                       uint32_t* to) -> absl::Status {
    const auto source = static_cast<uint32_t>(plan.sources.size());
    plan.sources.push_back(block);
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint32_t> live, Live(change, block));
    for (const uint32_t from : live) {
      target->moves.push_back({source, from, to == nullptr ? from : (*to)++});
    }
    return absl::OkStatus();
  };
  for (size_t b = 0; b < infos.size() && plan.sources.size() < most; ++b) {
    if (!compact && infos[b].leaving == 0) continue;
    if (absl::IsDataLoss(change->ReadCheckpoint(instance, b).status())) continue;
    if (infos[b].pending != Digest{}) continue;  // an entry of it is lost
    const bool is_sparse = infos[b].live + infos[b].leaving > 0 && infos[b].live <= per_block / 2;
    if (compact && is_sparse) {
      sparse.push_back(b);
    } else if (infos[b].leaving > 0) {
      plan.targets.push_back({b, {}});
      HEFT_RETURN_IF_ERROR(add(b, &plan.targets.back(), nullptr));
    }
  }
  if (sparse.size() == 1 && infos[sparse[0]].leaving == 0) return plan;  // nothing to join it with
  for (size_t i = 0; i < sparse.size() && plan.sources.size() < most;) {
    ExchangeRecord::Target target = {sparse[i], {}};
    uint32_t to = 0;
    for (;
         i < sparse.size() && to + infos[sparse[i]].live <= per_block && plan.sources.size() < most;
         ++i) {
      HEFT_RETURN_IF_ERROR(add(sparse[i], &target, &to));
    }
    plan.targets.push_back(std::move(target));
  }
  return plan;
}

namespace {

// A block of the exchange, before the renewal.
struct Old {
  BlockInfo info;
  bool in_place = false;            // no template of it moves
  std::vector<Resident> residents;  // unless in_place
};

absl::Status CheckExchange(const Instance& instance, const ExchangeRecord& exchange,
                           const Renewal& answer) {
  if (answer.targets.size() != exchange.targets.size()) {
    return absl::DataLossError("the answer has another number of blocks than was requested");
  }
  for (const ExchangeRecord::Target& target : exchange.targets) {
    HEFT_RETURN_IF_ERROR(CheckMoves(instance.params(), target.moves, exchange.sources.size()));
    const auto of_target = [&](const ExchangeRecord::Source& s) { return s.block == target.block; };
    if (std::ranges::none_of(exchange.sources, of_target)) {
      return absl::DataLossError("the target of an exchange is not one of its blocks");
    }
  }
  return absl::OkStatus();
}

// StaysInPlace: whether source `s` keeps templates, each at its position, and gets no others.
bool StaysInPlace(const ExchangeRecord& exchange, size_t s) {
  bool stays = false;
  for (const ExchangeRecord::Target& target : exchange.targets) {
    const bool here = target.block == exchange.sources[s].block;
    for (const Move& move : target.moves) {
      const bool mine = move.source == s;
      if (here != mine || (mine && move.from != move.to)) return false;
      stays = stays || mine;
    }
  }
  return stays;
}

absl::StatusOr<std::vector<Old>> ReadSources(GalleryChange* change, const ExchangeRecord& exchange,
                                             std::vector<ErasedItem>* items) {
  const uint64_t per_block = change->head().block_places;
  std::vector<Old> old(exchange.sources.size());
  for (size_t s = 0; s < exchange.sources.size(); ++s) {
    const uint64_t block = exchange.sources[s].block;
    if (block >= change->infos().size() ||
        change->infos()[block].checkpoint != exchange.sources[s].checkpoint) {
      return absl::FailedPreconditionError(
          "the blocks to renew have changed since: ask again (heft-server gallery renew)");
    }
    old[s].info = change->infos()[block];
    old[s].in_place = StaysInPlace(exchange, s);
    for (uint64_t i = 0; i < per_block; ++i) {
      HEFT_ASSIGN_OR_RETURN(const Resident* r, change->Place(block * per_block + i));
      if (!old[s].in_place) old[s].residents.push_back(*r);
      if (r->state == PlaceState::kLeaving) AddErased(items, r->person, r->left, r->name);
    }
  }
  return old;
}

// Empties the sources from which templates move. All leave before any arrives, because a new
// position may be the old position of the same or of another template.
absl::Status EmptySources(GalleryChange* change, const ExchangeRecord& exchange,
                          std::span<const Old> old) {
  for (size_t s = 0; s < old.size(); ++s) {
    if (!old[s].in_place) HEFT_RETURN_IF_ERROR(change->ClearBlock(exchange.sources[s].block));
  }
  for (size_t s = 0; s < old.size(); ++s) {
    if (old[s].in_place) continue;
    const uint64_t first = exchange.sources[s].block * change->head().block_places;
    for (size_t i = 0; i < old[s].residents.size(); ++i) {
      if (old[s].residents[i].state != PlaceState::kLive) continue;
      HEFT_RETURN_IF_ERROR(change->RemovePosition(old[s].residents[i].identity, first + i));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FinishedRenewal> FinishRenewal(GalleryChange* change, const Instance& instance,
                                              const Renewal& answer) {
  const StoreKey key = DigestKey(change->number(), answer.exchange);
  HEFT_ASSIGN_OR_RETURN(const auto bytes, change->writer().Get(Table::kExchanges, key));
  if (!bytes) {
    return absl::FailedPreconditionError(
        "this answer belongs to no open renewal: it was used before, or its blocks have changed "
        "since; ask again (heft-server gallery renew)");
  }
  HEFT_ASSIGN_OR_RETURN(const ExchangeRecord exchange, ParseExchange(*bytes, "an exchange"));
  HEFT_RETURN_IF_ERROR(CheckExchange(instance, exchange, answer));
  const ErrorCosts costs = ErrorCostsOf(instance);
  const uint64_t per_block = change->head().block_places;
  FinishedRenewal out;
  HEFT_ASSIGN_OR_RETURN(const std::vector<Old> old, ReadSources(change, exchange, &out.items));
  HEFT_RETURN_IF_ERROR(EmptySources(change, exchange, old));
  for (size_t t = 0; t < exchange.targets.size(); ++t) {
    const ExchangeRecord::Target& target = exchange.targets[t];
    if (target.moves.empty()) continue;  // no template is left in it
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts data,
                          FinishBlock(instance, answer.targets[t], exchange.seed, target.moves));
    HEFT_RETURN_IF_ERROR(change->WriteCheckpoint(target.block, data));
    ++out.blocks;
    const Old& first = old[target.moves[0].source];
    if (first.in_place) {
      const double before = first.info.error.added, added = before + costs.exchange;
      HEFT_RETURN_IF_ERROR(change->RenewInPlace(target.block, target.moves.size(), [&](double at) {
        return MovedClean(costs, before, at, added);
      }));
      HEFT_RETURN_IF_ERROR(change->SetAddedError(target.block, added, before));
      continue;
    }
    const double added = costs.exchange;
    for (const Move& move : target.moves) {
      const Old& from = old[move.source];
      const double clean =
          MovedClean(costs, from.info.error.added, from.residents[move.from].clean, added);
      HEFT_RETURN_IF_ERROR(
          change->Resettle(target.block * per_block + move.to, from.residents[move.from], clean));
      out.moved += move.from != move.to || exchange.sources[move.source].block != target.block;
    }
    HEFT_RETURN_IF_ERROR(change->SetAddedError(target.block, added, 0));
  }
  HEFT_RETURN_IF_ERROR(change->writer().Delete(Table::kExchanges, key));
  out.freed = exchange.sources.size() - out.blocks;
  return out;
}

}  // namespace heft
