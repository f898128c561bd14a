// SPDX-License-Identifier: Apache-2.0
#include "owner/query_ledger.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "heft/results.h"

namespace heft {
namespace {

constexpr uint64_t kDay = 86400;
// Larger buckets are as good as none, and no product of theirs with a time overflows.
constexpr uint64_t kLargest = uint64_t{1} << 28, kMaxPeriods = 20;

uint64_t Size(uint64_t tokens) { return std::min(tokens, kLargest); }

uint64_t Bits(const Entry& entry) { return entry.decision ? kDecisionBits : kScoreBits; }

// Cost: what an opening reserves.
uint64_t Cost(const Entry& entry) { return entry.slots * Bits(entry); }

template <typename Map, typename Key>
typename Map::mapped_type Find(const Map& map, const Key& key) {
  const auto it = map.find(key);
  return it == map.end() ? typename Map::mapped_type() : it->second;
}

std::string Named(std::string_view who) {
  return who.empty() ? std::string("the identity that the reply is of")
                     : absl::StrCat("\"", std::string(who), "\"");
}

absl::Status Spent(std::string_view what, std::string_view when) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the query budget is spent: ", std::string(what), "; ", std::string(when),
                   ". More, if you mean it: `heft budget --set` (SECURITY.md)"));
}

std::string ClientName(const ClientId& client) {
  return client == kUnlistedClient
             ? std::string("this client (not listed)")
             : absl::StrCat("this client (", HexString(client).substr(0, 16), ")");
}

// Again: `ready` is reckoned, `now` when the clock says `clock`.
std::string Again(const std::optional<uint64_t>& ready, uint64_t now, uint64_t clock) {
  return ready ? absl::StrCat("again from ", UtcText(clock + (*ready - now)))
               : std::string("never as it is set");
}

}  // namespace

Reckoning Reckoning::At(uint64_t clock) const {
  if (time == 0) return {clock, {}};
  Reckoning out = *this;
  while (!out.skips.empty() && out.skips.back().clock > clock) out.skips.pop_back();
  uint64_t skipped = 0;
  for (const Skip& skip : out.skips) skipped += skip.seconds;
  const uint64_t reached = clock - std::min(clock, skipped);
  if (reached > time + kDay) {
    out.skips.push_back({clock, reached - time - kDay});
    if (out.skips.size() > kMaxSkips) {
      out.skips[0].seconds += out.skips[1].seconds;
      out.skips.erase(out.skips.begin() + 1);
    }
  }
  out.time = std::clamp(reached, time, time + kDay);
  return out;
}

template <uint64_t kDays>
uint64_t RefillingBucket<kDays>::Spent(uint64_t now, uint64_t size) const {
  if (now <= time) return spent;
  const uint64_t period = kDays * kDay, elapsed = std::min(now - time, kMaxPeriods * period);
  const uint64_t back = elapsed * Size(size) * kMilli / period;
  return spent - std::min(spent, back);
}

template <uint64_t kDays>
void RefillingBucket<kDays>::Give(uint64_t tokens) {
  spent -= std::min(spent, Size(tokens) * kMilli);
}

template <uint64_t kDays>
void RefillingBucket<kDays>::Take(uint64_t now, uint64_t size, uint64_t tokens) {
  spent = Spent(now, size) + Size(tokens) * kMilli;
  time = std::max(time, now);
}

template <uint64_t kDays>
std::optional<uint64_t> RefillingBucket<kDays>::ReadyAt(uint64_t now, uint64_t size,
                                                        uint64_t tokens) const {
  if (tokens > Size(size)) return std::nullopt;
  const uint64_t room = (Size(size) - tokens) * kMilli, used = Spent(now, size);
  if (used <= room) return now;
  if (size == 0) return std::nullopt;
  const uint64_t whole = Size(size) * kMilli, period = kDays * kDay;
  // Of a bucket that was larger once, more than all may be spent.
  const uint64_t seconds =
      ((used - room) / whole) * period + ((used - room) % whole * period + whole - 1) / whole;
  return std::max(now, time) + seconds;
}

template struct RefillingBucket<1>;
template struct RefillingBucket<kRejectionDays>;

BudgetLimits QueryLedger::ModelUse::LimitsFor(const BudgetLimits& defaults) const {
  if (!limits) return defaults;
  BudgetLimits out = *limits;
  if (defaults.scores < measured) out.scores = std::min(out.scores, defaults.scores);
  return out;
}

absl::Status QueryLedger::CheckInUse() const {
  if (successor == KeyId{}) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the key was revoked: key ", HexString(successor), " has taken its place"));
}

uint64_t QueryLedger::Openings() const {
  uint64_t sum = 0;
  for (const auto& [id, use] : models) sum += use.identifications + use.verifications;
  return sum - std::min(sum, passed_on);
}

QueryLedger QueryLedger::ForSuccessor() const {
  QueryLedger out = *this;
  out.passed_on += Openings();
  out.told = 0;
  out.proofs = 0;
  return out;
}

absl::Status QueryLedger::CheckOpenings(uint64_t most) const {
  if (most == 0 || Openings() < most) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(Openings(),
                   " replies were opened under this key, as many as the noise that "
                   "hides it is for: renew the key (heft rekey)"));
}

absl::Status QueryLedger::CheckProofs(uint64_t count, uint64_t most) const {
  if (most == 0 || (count <= most && proofs <= most - count)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the enrolments have ", count, " more proofs of norms, and ", proofs, " of the ", most,
      " for which this key's noise suffices were opened: renew the key (heft rekey)"));
}

absl::Status QueryLedger::CheckState(const SignedState& state, bool strict) const {
  const auto it = states.find(state.gallery);
  const bool known = it != states.end();
  const std::string what =
      absl::StrCat("gallery ", HexString(state.gallery), ", generation ", state.generation, ": ");
  if (known && state.generation < it->second.generation) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, "an older state than generation ", it->second.generation,
                     ", which was signed: somebody has put an old gallery back"));
  }
  if (known && state.generation == it->second.generation) {
    if (state.root == it->second.root) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        what, "its root is not the one that was signed: other templates, or other blocks"));
  }
  if (!strict) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what,
                   "nobody has signed this state yet: heft-server pending, heft answer, "
                   "heft-server apply"));
}

absl::Status QueryLedger::CheckTold(uint64_t units, uint64_t most) const {
  if (most == 0 || told + units <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "what was opened under this key can tell ", told / kKeyUnits, " of its ", most / kKeyUnits,
      " bits, and nothing more is opened under it: renew the key with heft rekey, and "
      "the gallery with heft-server apply"));
}

absl::Status QueryLedger::CheckGallery(const GalleryId& asked) const {
  if (gallery == GalleryId{} || asked == gallery) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "of gallery ", HexString(asked), ", and this key's own is ", HexString(gallery),
      ": the same name may be somebody else there. If it is meant, name it: --gallery-id ",
      HexString(asked), ", or heft trust add --gallery for good"));
}

absl::Status QueryLedger::CheckClient(const ModelUse& use, const Entry& entry) const {
  const ClientUse client = Find(use.clients, entry.client);
  const uint64_t size = ClientBits(*use.limits, entry.client), now = reckoning.At(entry.time).time;
  const auto ready = client.bucket.ReadyAt(now, size, Cost(entry));
  if (ready == now) return absl::OkStatus();
  return Spent(absl::StrCat(ClientName(entry.client), " has been told what it may be in a day, ",
                            size, " bits (a score ", kScoreBits, ", a decision ", kDecisionBits,
                            "), and asks for ", Cost(entry)),
               Again(ready, now, entry.time));
}

absl::Status QueryLedger::CheckIdentity(const Entry& entry, const IdentityTag& identity,
                                        std::string_view who) const {
  const auto it = models.find(entry.model);
  if (it == models.end() || !it->second.limits) {
    return absl::InternalError("a model without limits in the journal");
  }
  const ModelUse& use = it->second;
  const ShareUse share = Find(use.shares, std::make_pair(identity, entry.client));
  const Use all = Find(use.identities, identity);
  if (!entry.decision) {
    const uint64_t limit = use.limits->scores, half = Share(limit);
    const uint64_t given = all.scores;
    const char* const instead = "scores are spent for good, decisions go on (without --scores)";
    if (share.scores >= half) {
      return Spent(absl::StrCat(Named(who), " has given this client ", share.scores,
                                " scores, and one client may get ", half),
                   instead);
    }
    if (given < limit) return absl::OkStatus();
    return Spent(absl::StrCat(Named(who), " has given ", given, " scores and may give ", limit),
                 instead);
  }
  const uint64_t size = use.limits->decisions, half = Share(size);
  const uint64_t now = reckoning.At(entry.time).time;
  const auto own = share.bucket.ReadyAt(now, half, 1);
  if (own != now) {
    return Spent(absl::StrCat(Named(who), " was accepted ", half, " times for ",
                              ClientName(entry.client), ", as often as for one client in a day"),
                 Again(own, now, entry.time));
  }
  const auto ready = all.bucket.ReadyAt(now, size, 1);
  if (ready == now) return absl::OkStatus();
  return Spent(absl::StrCat(Named(who), " was accepted ", size,
                            " times, as often as for all clients together in a day"),
               Again(ready, now, entry.time));
}

// The owner who combines the parts learns whether the claim was accepted; this one does not. It
// counts the claims, up to the number of acceptances that one client may get.
absl::Status QueryLedger::CheckGivenClaim(const Entry& entry, const IdentityTag& identity,
                                          std::string_view who) const {
  const ModelUse& use = models.at(entry.model);
  const ShareUse share = Find(use.shares, std::make_pair(identity, entry.client));
  const uint64_t half = Share(use.limits->decisions), now = reckoning.At(entry.time).time;
  const auto ready = share.bucket.ReadyAt(now, half, 1);
  if (ready == now) return absl::OkStatus();
  return Spent(absl::StrCat("this owner of the key has given its part of ", half, " claims of ",
                            entry.verification ? Named(who) : std::string("one of few people"),
                            " by ", ClientName(entry.client), ", as many as in a day"),
               Again(ready, now, entry.time));
}

absl::Status QueryLedger::CheckClaim(const Entry& entry, const IdentityTag& identity,
                                     std::string_view who) const {
  if (entry.act == Entry::Act::kGiven && entry.decision) {
    return CheckGivenClaim(entry, identity, who);
  }
  // One of the few who answer a search need not be the one that is published.
  if (entry.verification) HEFT_RETURN_IF_ERROR(CheckIdentity(entry, identity, who));
  if (!entry.decision) return absl::OkStatus();
  const ModelUse& use = models.at(entry.model);
  const ShareUse share = Find(use.shares, std::make_pair(identity, entry.client));
  const uint64_t size = use.limits->rejections, now = reckoning.At(entry.time).time;
  const auto ready = share.rejections.ReadyAt(now, size, 1);
  if (ready == now) return absl::OkStatus();
  const std::string when =
      ready ? absl::StrCat("may ask again from ", UtcText(entry.time + (*ready - now)))
            : std::string("may never ask as it is set");
  return absl::ResourceExhaustedError(absl::StrCat(
      ClientName(entry.client), " was rejected ", size, " times about ",
      entry.verification ? Named(who) : std::string("one of the few people who answer"), "; it ",
      when, ". Other clients are not affected (heft budget --set rejections=N)"));
}

uint64_t QueryLedger::ScoresLeft(const ModelId& model, const ClientId& client,
                                 const IdentityTag& identity) const {
  const auto it = models.find(model);
  if (it == models.end()) return 0;
  const ModelUse& use = it->second;
  const uint64_t limit = use.limits.value_or(BudgetLimits()).scores, half = Share(limit);
  const uint64_t given = Find(use.identities, identity).scores;
  const uint64_t share = Find(use.shares, std::make_pair(identity, client)).scores;
  return std::min(limit - std::min(limit, given), half - std::min(half, share));
}

absl::Status QueryLedger::Check(const Entry& entry, std::string_view who) const {
  HEFT_RETURN_IF_ERROR(CheckInUse());
  const bool opens = entry.act == Entry::Act::kOpening || entry.act == Entry::Act::kGiven;
  if (!opens && entry.act != Entry::Act::kPart) return absl::OkStatus();
  if (const auto it = opened_.find(entry.reply); it != opened_.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this reply was opened before, at ", UtcText(it->second),
                     ": a reply is opened once; ask the server for a new one"));
  }
  if (entry.act == Entry::Act::kPart) return absl::OkStatus();
  const auto it = models.find(entry.model);
  if (it == models.end() || !it->second.limits) {
    return absl::InternalError("a model without limits in the journal");
  }
  HEFT_RETURN_IF_ERROR(CheckClient(it->second, entry));
  for (const IdentityTag& identity : entry.identities) {
    HEFT_RETURN_IF_ERROR(CheckClaim(entry, identity, who));
  }
  return absl::OkStatus();
}

void QueryLedger::Publish(ModelUse* use, const Entry& entry) {
  const BudgetLimits limits = use->limits.value_or(BudgetLimits());
  for (const IdentityTag& identity : entry.identities) {
    ShareUse& share = use->shares[{identity, entry.client}];
    if (entry.decision && entry.act == Entry::Act::kGiven) {
      share.bucket.Take(reckoning.time, Share(limits.decisions), 1);
      continue;
    }
    if (entry.decision && entry.act == Entry::Act::kOpening) {
      share.rejections.Take(reckoning.time, limits.rejections, 1);
      continue;
    }
    Use& all = use->identities[identity];
    if (!entry.decision) {
      ++all.scores;
      ++share.scores;
      continue;
    }
    if (entry.claimed) {
      share.rejections.Take(reckoning.time, limits.rejections, 0);
      share.rejections.Give(2);  // what the opening took, and one for an earlier rejection
    }
    ++all.decisions;
    ++share.decisions;
    all.bucket.Take(reckoning.time, limits.decisions, 1);
    share.bucket.Take(reckoning.time, Share(limits.decisions), 1);
  }
}

void QueryLedger::Remember(const ReplyTag& reply, uint64_t when) {
  replies.emplace_back(reply, when);
  opened_[reply] = when;
  // Not one by one: that would move all of them each time.
  if (replies.size() <= kMaxReplies + kMaxReplies / 8) return;
  replies.erase(replies.begin(), replies.end() - kMaxReplies);
  Index();
}

void QueryLedger::Index() {
  opened_.clear();
  for (const auto& [reply, when] : replies) opened_[reply] = when;
}

absl::Status QueryLedger::Apply(const Entry& entry, std::string_view what) {
  if (!entry.state.empty()) {
    HEFT_ASSIGN_OR_RETURN(*this, Parse(entry.state, what));
  }
  time = entry.time;
  reckoning = reckoning.At(entry.time);
  ModelUse* const use = entry.model == ModelId{} ? nullptr : &models[entry.model];
  switch (entry.act) {
    case Entry::Act::kStart:
    case Entry::Act::kCheckpoint:
      break;
    case Entry::Act::kRestart:
      restarts.push_back({entry.time, entry.text});
      break;
    case Entry::Act::kOpening:
    case Entry::Act::kGiven: {
      if (use == nullptr) break;
      ++(entry.verification ? use->verifications : use->identifications);
      ClientUse& client = use->clients[entry.client];
      ++client.openings;
      client.slots += entry.slots;
      client.bucket.Take(reckoning.time,
                         ClientBits(use->limits.value_or(BudgetLimits()), entry.client),
                         Cost(entry));
      Remember(entry.reply, entry.time);
      Publish(use, entry);
      told += entry.told;
      break;
    }
    case Entry::Act::kPart:
      Remember(entry.reply, entry.time);
      break;
    case Entry::Act::kProofs:
      proofs += entry.proofs;
      break;
    case Entry::Act::kPublished: {
      if (use == nullptr) break;
      Publish(use, entry);
      if (entry.decision) break;  // that somebody is accepted is no more than the opening took
      // The reserved bits that were not published are given back, but for the bit of an answer.
      const uint64_t used = std::max<uint64_t>(entry.identities.size() * Bits(entry), 1);
      ClientUse& client = use->clients[entry.client];
      const uint64_t back = (Cost(entry) - std::min(Cost(entry), used)) * kMilli;
      client.bucket.spent -= std::min(client.bucket.spent, back);
      client.slots -= std::min(
          client.slots, entry.slots - std::min<uint64_t>(entry.slots, entry.identities.size()));
      break;
    }
    case Entry::Act::kLimits:
      if (use == nullptr) break;
      use->limits = entry.limits;
      use->measured = entry.measured;
      break;
    case Entry::Act::kRevocation:
      successor = entry.successor;
      break;
    case Entry::Act::kGallery:
      gallery = entry.gallery;
      break;
    case Entry::Act::kState:
      states[entry.signed_state.gallery] = entry.signed_state;
      break;
  }
  return absl::OkStatus();
}

}  // namespace heft
