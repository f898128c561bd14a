// SPDX-License-Identifier: Apache-2.0
#include "owner/key_owner_impl.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/constant_time.h"
#include "base/secure.h"
#include "fusion/errors.h"
#include "fusion/norm_proof.h"

namespace heft {

// A quotient: the double nearest to three decimals, which prints as them.
double RoundScore(double score) { return std::round(score / kScoreStep) / (1 / kScoreStep); }

uint32_t KeyUnits(bool decision, double error) {
  const double ratio = error / kDecisionBlur;
  // A Gaussian of this deviation in steps has log2(deviation sqrt(2 pi e) / step) bits.
  const double bits = decision ? 0.5 * std::log2(1 + ratio * ratio)
                               : std::max(1.0, std::log2(4.133 * error / kScoreStep));
  return static_cast<uint32_t>(std::max(1.0, std::ceil(bits * kKeyUnits)));
}

uint64_t MostKeyUnits(uint32_t degree) {
  return static_cast<uint64_t>(degree * std::log2(3.0)) * kKeyUnits;
}

namespace {

// HasRoom: a short reply's coefficients are known modulo the base prime alone. Those of scores
// are all of one size, by their signs, so where one might have wrapped around, others lie near the
// wrap. A reply that keeps clear of it by a quarter has none.
bool HasRoom(const ckks::Context& context, const ckks::Plaintext& plain) {
  constexpr double kMax = 0.375;  // of the base prime; it wraps at a half
  std::vector<double> coefficients = ckks::CentredCoefficients(context, plain);
  double largest = 0;
  for (double c : coefficients) largest = std::max(largest, std::abs(c));
  SecureWipe(coefficients.data(), coefficients.size() * sizeof(double));
  // That a reply is refused is public.
  return Declassified(largest <= kMax * context.modulus(0).value());
}

constexpr char kNoRoom[] =
    "scores too large for a short reply: those of no honest probe, or of a gallery whose templates "
    "are nearly all alike; ask the server for --degree-two";
// CheckedCeremony: the record in a share, if it is of this key, model and owner.
absl::StatusOr<SignedCeremony> CheckedCeremony(const Model& model, const KeyShare& share) {
  HEFT_ASSIGN_OR_RETURN(SignedCeremony out, ReadCeremony(share.ceremony, "the share's record"));
  const Ceremony& ceremony = out.ceremony;
  if (ceremony.key_id != share.key_id || share.owner() > ceremony.owners.size()) {
    return absl::DataLossError("a share with the record of another key's ceremony");
  }
  if (ceremony.model_id == model.Id()) return out;
  return absl::FailedPreconditionError(
      "a share of a key for another model: give the model that its ceremony was for");
}

// Better: a score that is not a number is the best one, so that a refusal charges it.
bool Better(const Candidate& a, const Candidate& b) {
  const auto worth = [](const Candidate& c) {
    return std::isnan(c.score) ? std::numeric_limits<double>::infinity() : c.score;
  };
  if (worth(a) != worth(b)) return worth(a) > worth(b);
  return a.identity < b.identity;
}

// KeepBest: adds to a heap of at most `most` candidates, whose first one is the worst.
void KeepBest(Candidate candidate, size_t most, std::vector<Candidate>* kept) {
  if (kept->size() == most && !Better(candidate, kept->front())) return;
  kept->push_back(std::move(candidate));
  std::ranges::push_heap(*kept, Better);
  if (kept->size() <= most) return;
  std::ranges::pop_heap(*kept, Better);
  kept->pop_back();
}

constexpr char kNoCosine[] = "a score that is no cosine: not one of a sound probe and template";

}  // namespace

absl::StatusOr<std::unique_ptr<KeyOwner::Impl>> KeyOwner::Impl::Create(
    const Model& model, Rings rings, HeldKey held, std::unique_ptr<QueryJournal> journal) {
  if (journal == nullptr) {
    HEFT_ASSIGN_OR_RETURN(journal, QueryJournal::InMemory());
  }
  std::unique_ptr<Impl> impl(
      new Impl(model, std::move(rings), std::move(held), std::move(journal)));
  if (impl->held_.share() != nullptr) {
    HEFT_ASSIGN_OR_RETURN(impl->ceremony_, CheckedCeremony(model, *impl->held_.share()));
  }
  return impl;
}

absl::Status KeyOwner::Impl::RequireSecretKey(std::string_view what) const {
  if (held_.whole() != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("a share of a key cannot ", std::string(what),
                                                    ": that takes the whole key (docs/owners.md)"));
}

absl::StatusOr<KeyOwner> KeyOwner::Impl::Own(const Model& model, HeldKey held,
                                             std::unique_ptr<QueryJournal> journal) {
  HEFT_ASSIGN_OR_RETURN(Rings rings, MakeRings(model));
  HEFT_ASSIGN_OR_RETURN(auto impl,
                        Create(model, std::move(rings), std::move(held), std::move(journal)));
  return KeyOwner(std::move(impl));
}

absl::Status KeyOwner::Impl::Publish(const Opening& opening, OpenedScores* scores) const {
  std::vector<Candidate>& all = scores->candidates;
  all.resize(std::min<size_t>(all.size(), opening.slots));
  std::vector<std::string> ranked;
  for (const Candidate& candidate : all) ranked.push_back(candidate.identity);
  HEFT_ASSIGN_OR_RETURN(const std::vector<bool> may, journal_->Publish(opening, ranked));
  size_t kept = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (may[i]) std::swap(all[kept++], all[i]);
  }
  scores->withheld = all.size() - kept;
  all.resize(kept);
  ranked.clear();
  for (const Candidate& candidate : all) ranked.push_back(candidate.identity);
  HEFT_ASSIGN_OR_RETURN(const auto left, journal_->ScoresLeft(opening, ranked));
  for (size_t i = 0; i < all.size(); ++i) all[i].scores_left = left[i];
  return absl::OkStatus();
}

absl::StatusOr<OpenedScores> KeyOwner::Impl::Refused(const Opening& opening,
                                                     std::vector<Candidate> best,
                                                     OpenedScores scores) const {
  const auto first = std::ranges::min_element(best, Better);
  if (opening.decision) {
    const bool claimed = opening.verification || !opening.few.empty();
    if (claimed || first == best.end()) return scores;
    HEFT_RETURN_IF_ERROR(journal_->PublishDecision(opening, first->identity, /*accepted=*/true));
    return scores;
  }
  OpenedScores charged;
  if (first != best.end()) charged.candidates.push_back(std::move(*first));
  HEFT_RETURN_IF_ERROR(Publish(opening, &charged));
  return scores;
}

absl::StatusOr<std::vector<ckks::Complex>> KeyOwner::Impl::OpenSlots(
    const ckks::Ciphertext& ciphertext, const Decryption& decryption, bool brief) const {
  const ckks::Context& context = *instance().context;
  HEFT_ASSIGN_OR_RETURN(
      ckks::Plaintext plain,
      decryption.opener.Open(RingName::kMatching, ciphertext, decryption.flooding));
  std::vector<ckks::Complex> slots;
  if (!brief || HasRoom(context, plain)) slots = instance().encoder->Decode(plain);
  SecureWipe(plain.poly.values().data(), plain.poly.values().size_bytes());
  return slots;
}

absl::StatusOr<std::vector<ckks::Complex>> KeyOwner::Impl::OpenReply(const ScoreReply& reply,
                                                                     const Decryption& decryption,
                                                                     std::string* refusal) const {
  HEFT_ASSIGN_OR_RETURN(std::vector<ckks::Complex> slots,
                        OpenSlots(reply.scores, decryption, reply.brief.has_value()));
  if (slots.empty()) {
    *refusal = kNoRoom;
    return slots;
  }
  std::vector<ckks::Complex> masked(slots.size(), 0);
  for (const ScoreReply::Answer& answer : reply.answers) {
    const ckks::Complex slot =
        SlotSign(instance().plan, answer.slot, answer.lane) * slots[answer.slot];
    ckks::Complex& out = masked[answer.slot];
    out = answer.lane == 0 ? ckks::Complex(slot.real(), out.imag())
                           : ckks::Complex(out.real(), slot.imag());
  }
  SecureWipe(slots.data(), slots.size() * sizeof(slots[0]));
  return masked;
}

void KeyOwner::Impl::Rank(uint32_t modalities, std::vector<Candidate>* candidates) const {
  std::ranges::sort(*candidates, Better);
  const auto table = model_.TableFor(modalities);
  if (!table.ok() || !(*table)->calibration) return;
  // Of the rounded score: the published ratio must not tell more than it.
  for (Candidate& c : *candidates) {
    c.log_likelihood_ratio =
        std::round(100 * (*table)->calibration->LogLikelihoodRatio(c.score)) / 100;
  }
}

absl::StatusOr<double> KeyOwner::Impl::OpenNorm(const EncryptedScores& scores,
                                                const Decryption& decryption,
                                                std::string* refusal) const {
  HEFT_ASSIGN_OR_RETURN(std::vector<ckks::Complex> slots,
                        OpenSlots(scores.norm, decryption, /*brief=*/false));
  const absl::StatusOr<double> norm = ReadNorm(slots, ProofOf::kProbe, model_.gamma);
  SecureWipe(slots.data(), slots.size() * sizeof(slots[0]));
  if (!norm.ok()) {
    *refusal = std::string(norm.status().message());
    return 0;
  }
  if (!NormInterval(rings_, model_).Contains(*norm)) {
    *refusal = "the probe's norm lies outside the model's interval";
  }
  return *norm;
}

absl::Status KeyOwner::Impl::OpenScores(const ReadReply& read, double length,
                                        const Decryption& decryption, const Purpose& purpose,
                                        Found* found, std::string* refusal) const {
  const EncryptedScores& scores = read.scores;
  const double bound = ScoreBound(rings_, model_);
  for (const ScoreReply& reply : scores.replies) {
    HEFT_ASSIGN_OR_RETURN(std::vector<ckks::Complex> slots, OpenReply(reply, decryption, refusal));
    for (const ScoreReply::Answer& answer : reply.answers) {
      const ckks::Complex slot = slots.empty() ? 0 : slots[answer.slot];
      const double cosine = (answer.lane == 0 ? slot.real() : slot.imag()) / length;
      if (!(std::abs(cosine) <= bound)) *refusal = kNoCosine;
      const double score = RoundScore(cosine);
      if (scores.identities.empty()) {
        if (!purpose.besides.empty() &&
            purpose.besides == PositionName(read.bucket, answer.identity)) {
          continue;
        }
        found->places.Add({score, read.bucket, answer.identity});
        ++found->unnamed;
        continue;
      }
      const std::string& identity = scores.identities[answer.identity];
      if (canaries_ && canaries_->Names(identity)) {
        found->canaries.emplace(identity, cosine);
        if (scores.kind == ScoreKind::kIdentification) continue;
      }
      if (identity == purpose.besides) continue;
      Found::Best& best = found->best.try_emplace(identity, Found::Best{score}).first->second;
      best.score = std::max(best.score, score);
      ++best.templates;
    }
    SecureWipe(slots.data(), slots.size() * sizeof(slots[0]));
    if (!refusal->empty()) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<OpenedScores> KeyOwner::Impl::OpenRead(Question question, const Opener& opener,
                                                      const std::optional<Flooding>& asked,
                                                      Opening* opening) const {
  const Purpose& purpose = question.purpose;
  HEFT_ASSIGN_OR_RETURN(const Accepted accepted,
                        Accept(std::move(question.replies), FloodingFor(asked), purpose));
  const Decryption decryption = {opener, accepted.flooding};
  *opening = accepted.opening;
  const EncryptedScores& first = accepted.replies[0].scores;
  OpenedScores out;
  out.kind = first.kind;
  out.probe = first.probe;
  out.modalities = model_.NamesOf(first.modalities);
  out.claimed = first.claimed;
  out.gallery_id = question.gallery;
  // The scores of a thin probe are divided by its length.
  std::vector<double> lengths;
  for (const ReadReply& reply : accepted.replies) {
    if (reply.scores.restriction) out.where = reply.scores.restriction->where;
    HEFT_ASSIGN_OR_RETURN(const double norm, OpenNorm(reply.scores, decryption, &out.refusal));
    if (!out.refusal.empty()) return Doubted(std::move(out));
    lengths.push_back(rings_.thin() ? std::sqrt(norm) : 1);
  }
  Found found;
  found.places = BestPlaces(purpose.publish);
  for (size_t i = 0; i < lengths.size() && out.refusal.empty(); ++i) {
    HEFT_RETURN_IF_ERROR(
        OpenScores(accepted.replies[i], lengths[i], decryption, purpose, &found, &out.refusal));
  }
  if (out.refusal.empty() && canaries_) {
    out.refusal =
        canaries_->Check(accepted.replies, found.canaries, model_.approximation, rings_.thin());
  }
  uint64_t searched = found.unnamed;
  const size_t most = purpose.decision ? 1 : std::max<size_t>(accepted.opening.slots, 1);
  for (const auto& [identity, best] : found.best) {
    KeepBest({std::string(identity), best.score, best.templates, {}}, most, &out.candidates);
    searched += best.templates;
  }
  for (const BestPlaces::Place& place : std::move(found.places).Take()) {
    const std::string name = PositionName(place.bucket, place.position);
    if (found.best.contains(name)) continue;  // somebody has this name
    KeepBest({name, place.score, 1, {}}, most, &out.candidates);
  }
  if (!out.refusal.empty()) {
    std::vector<Candidate> best = std::move(out.candidates);
    out.candidates.clear();
    return Refused(accepted.opening, std::move(best), Doubted(std::move(out)));
  }
  if (out.kind == ScoreKind::kIdentification) out.searched = searched;
  Rank(first.modalities, &out.candidates);
  if (!purpose.decision) HEFT_RETURN_IF_ERROR(Publish(accepted.opening, &out));
  HEFT_ASSIGN_OR_RETURN(out.key_warning, journal_->KeyWarning(accepted.opening, MostProofs()));
  return out;
}

absl::StatusOr<OpenedScores> KeyOwner::Impl::Open(const Replies& replies,
                                                  const std::optional<Flooding>& flooding,
                                                  const Purpose& purpose) const {
  HEFT_ASSIGN_OR_RETURN(Asked asked, AskTogether(replies, purpose, {}, flooding));
  Opening opening;
  return OpenRead(std::move(asked.question), *asked.opener, flooding, &opening);
}

absl::StatusOr<CanarySet> KeyOwner::Impl::MakeCanaries(size_t triples,
                                                       std::vector<std::string> names) const {
  CanarySet set;
  HEFT_ASSIGN_OR_RETURN(const Canaries canaries,
                        Canaries::Make(model_, triples, std::move(names), &set));
  HEFT_ASSIGN_OR_RETURN(set.file, canaries.Seal(model_, held_, CeremonyOrNull()));
  return set;
}

absl::Status KeyOwner::Impl::RequireCanaries(ByteSpan file, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(canaries_, Canaries::Open(file, model_, held_, CeremonyOrNull(), what));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<ckks::Complex>>> KeyOwner::Impl::OpenRawSlotsUnsafe(
    ByteSpan bytes, std::string_view what) const {
  HEFT_RETURN_IF_ERROR(RequireSecretKey("open raw slots"));
  const SecretKeyOpener opener(rings_, keys());
  const ReplyFile file = {bytes, what};
  const Replies replies = {{&file, 1}};
  HEFT_ASSIGN_OR_RETURN(const std::vector<TrustedReply> trusted, CheckReplies(replies));
  HEFT_ASSIGN_OR_RETURN(std::vector<ReadReply> read, Read(replies, trusted));
  HEFT_ASSIGN_OR_RETURN(const Accepted accepted, Accept(std::move(read), {}, {}));
  std::vector<std::vector<ckks::Complex>> out;
  for (const ScoreReply& reply : accepted.replies[0].scores.replies) {
    std::string refusal;
    HEFT_ASSIGN_OR_RETURN(auto slots, OpenReply(reply, {opener, {}}, &refusal));
    if (!refusal.empty()) return absl::FailedPreconditionError(refusal);
    out.push_back(std::move(slots));
  }
  return out;
}

}  // namespace heft
