// SPDX-License-Identifier: Apache-2.0
#include "gallery/owner/key_owner_impl.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/constant_time.h"
#include "base/secure.h"
#include "base/signed_file.h"
#include "fusion/errors.h"
#include "fusion/key_files.h"
#include "fusion/norm_proof.h"

namespace heft {

double RoundScore(double score) { return std::round(score / kScoreStep) * kScoreStep; }

namespace {

// The file is not authenticated, and the scale decides what a score is: whoever changes it chooses
// the step to which we round. So it must be the plan's, and the ciphertext of the form that a
// server makes.
absl::Status CheckForm(const ckks::Ciphertext& c, size_t parts, size_t limbs, double scale,
                       std::string_view what) {
  if (c.size() == parts && c.limbs() == limbs && std::abs(c.scale - scale) <= 1e-6 * scale) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(std::string(what),
                                          ": a ciphertext that is not of the form of this model's "
                                          "scores (parts, limbs or scale)"));
}

// LengthenReply: a short reply of the plan's form and no other, for all that follows.
absl::Status LengthenReply(const Instance& instance, ScoreReply* reply, std::string_view what) {
  const FusionPlan& plan = instance.plan;
  if (!plan.matching.short_replies || reply->brief->form != plan.matching.reply_form) {
    return absl::DataLossError(absl::StrCat(
        std::string(what), ": short scores that are not of the form of this model's replies"));
  }
  reply->scores = reply->Full(*instance.context);
  // At least this, whatever the file says.
  double& error = reply->scores.noise.error;
  error = std::max(error, ckks::ShorteningError(instance.params(), plan.matching.reply_form));
  return absl::OkStatus();
}

// CheckNormForm: no proof of the norm, no answer.
absl::Status CheckNormForm(const Rings& rings, const EncryptedScores& scores,
                           std::string_view what) {
  const FusionPlan& plan = rings.matching.plan;
  const ckks::Params& params = rings.matching.params();
  if (scores.norm_form == NormForm::kProof) {
    return CheckForm(scores.norm, 2, ScoreLimbs(params), NormProofScale(params, plan), what);
  }
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what),
                   ": no proof of the probe's norm, without which nothing is decided; ask a server "
                   "of this version"));
}

absl::Status CheckForms(const Rings& rings, const EncryptedScores& scores, std::string_view what) {
  const FusionPlan& plan = rings.matching.plan;
  const ckks::Params& params = rings.matching.params();
  const double rescaled = scores.kind == ScoreKind::kVerification ? plan.matching.verified_scale
                                                                  : plan.matching.score_scale;
  for (const ScoreReply& reply : scores.replies) {
    if (reply.brief) {
      const double scale = std::ldexp(plan.matching.score_scale, plan.matching.reply_form.raised);
      HEFT_RETURN_IF_ERROR(CheckForm(reply.scores, 2, ScoreLimbs(params), scale, what));
      continue;
    }
    const bool degree_two = reply.scores.size() == 3;
    HEFT_RETURN_IF_ERROR(
        degree_two ? CheckForm(reply.scores, 3, MatchLimbs(params),
                               plan.matching.probe_scale * plan.matching.block_scale, what)
                   : CheckForm(reply.scores, 2, ScoreLimbs(params), rescaled, what));
  }
  return CheckNormForm(rings, scores, what);
}

// PrepareFlooding: how the ciphertexts of a reply are flooded. Its noise is spread over all of
// them, so that an opening costs the same however many there are, and the other half of what an
// adversary may learn is left to the proofs of admissions. The noise that a file states is its
// writer's word: it is at least what an honest reply has.
absl::StatusOr<ckks::FloodingOptions> PrepareFlooding(const Instance& instance,
                                                      const Flooding& flooding,
                                                      EncryptedScores* scores) {
  const ckks::Params& params = instance.params();
  const FusionPlan& plan = instance.plan;
  const uint64_t ciphertexts = scores->replies.size() + 1;
  const ckks::FloodingOptions options = {flooding.security_bits,
                                         2 * flooding.openings * ciphertexts};
  auto prepare = [&](ckks::Ciphertext& c, double error) {
    if (c.size() != 2) {
      return absl::FailedPreconditionError(
          "a reply of degree two has no room for noise flooding: identify without --degree-two");
    }
    c.noise.message = std::max(c.noise.message, 1.0);
    c.noise.error = std::max(c.noise.error, error * c.scale);
    return ckks::CheckFloodingRoom(params, c, options);
  };
  const double error = ScoreError(params, plan, scores->kind == ScoreKind::kVerification);
  for (ScoreReply& reply : scores->replies) HEFT_RETURN_IF_ERROR(prepare(reply.scores, error));
  HEFT_RETURN_IF_ERROR(prepare(scores->norm, NormProofError(params, plan)));
  return options;
}

// HasRoom: a short reply's coefficients are known modulo the base prime alone. Those of scores
// are all of one size, by their signs, so a reply of which one might have wrapped around has others
// near to it; one that keeps clear of it by a quarter has none.
bool HasRoom(const ckks::Context& context, const ckks::Plaintext& plain) {
  constexpr double kMost = 0.375;  // of the base prime; it wraps at a half
  std::vector<double> coefficients = ckks::CentredCoefficients(context, plain);
  double largest = 0;
  for (double c : coefficients) largest = std::max(largest, std::abs(c));
  SecureWipe(coefficients.data(), coefficients.size() * sizeof(double));
  // That a reply is refused is public.
  return Declassified(largest <= kMost * context.modulus(0).value());
}

constexpr char kNoRoom[] =
    "scores too large for a short reply: those of no honest probe, or of a gallery whose templates "
    "are nearly all alike; ask the server for --degree-two";
constexpr char kNoCosine[] = "a score that is no cosine: not one of a sound probe and template";

}  // namespace

absl::StatusOr<std::unique_ptr<KeyOwner::Impl>> KeyOwner::Impl::Create(
    const Model& model, Rings rings, SecretKeys keys, std::unique_ptr<QueryJournal> journal) {
  if (journal == nullptr) {
    HEFT_ASSIGN_OR_RETURN(journal, QueryJournal::InMemory());
  }
  return std::unique_ptr<Impl>(
      new Impl(model, std::move(rings), std::move(keys), std::move(journal)));
}

absl::StatusOr<KeyOwner> KeyOwner::Impl::Own(const Model& model, SecretKeys keys,
                                             std::unique_ptr<QueryJournal> journal) {
  HEFT_ASSIGN_OR_RETURN(Rings rings, MakeRings(model));
  HEFT_ASSIGN_OR_RETURN(auto impl,
                        Create(model, std::move(rings), std::move(keys), std::move(journal)));
  return KeyOwner(std::move(impl));
}

std::optional<Flooding> KeyOwner::Impl::FloodingFor(const std::optional<Flooding>& asked) const {
  if (!flooded_) return asked;
  const Flooding least;
  Flooding flooding = asked.value_or(least);
  flooding.openings = std::max(flooding.openings, least.openings);
  return flooding;
}

absl::StatusOr<KeyOwner::Impl::Accepted> KeyOwner::Impl::Accept(
    ByteSpan bytes, std::string_view what, const std::optional<Flooding>& flooding,
    const Purpose& purpose) const {
  HEFT_ASSIGN_OR_RETURN(const TrustedReply trusted, CheckSigned(bytes, "SCOR", what));
  Accepted out;
  EncryptedScores& scores = out.scores;
  HEFT_ASSIGN_OR_RETURN(scores, ParseScores(*instance().context, trusted.file, what));
  HEFT_RETURN_IF_ERROR(CheckKeyId(keys_.key_id(), scores.key_id, what));
  if (scores.model_id != model_.Id()) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": scores of another model"));
  }
  for (ScoreReply& reply : scores.replies) {
    if (reply.brief) HEFT_RETURN_IF_ERROR(LengthenReply(instance(), &reply, what));
  }
  HEFT_RETURN_IF_ERROR(CheckForms(rings_, scores, what));
  const bool verification = scores.kind == ScoreKind::kVerification;
  // What is charged for must be what is opened.
  if (verification && (scores.claimed.empty() || scores.identities[0] != scores.claimed)) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": a verification of another identity than the claimed"));
  }
  Opening& opening = out.opening;
  if (flooding) {
    HEFT_ASSIGN_OR_RETURN(out.flooding, PrepareFlooding(instance(), *flooding, &scores));
    opening.most = flooding->openings;
  }
  opening.model = scores.model_id;
  opening.verification = verification;
  opening.claimed = scores.claimed;
  opening.client = trusted.client;
  opening.decision = purpose.decision;
  if (scores.origin) {
    if (trusted.gallery && (*trusted.gallery != scores.origin->gallery ||
                            trusted.generation != scores.origin->generation)) {
      return absl::FailedPreconditionError(absl::StrCat(
          std::string(what), ": made from another gallery, or generation, than it is signed for"));
    }
    opening.state = {scores.origin->gallery, scores.origin->generation, scores.origin->root};
  }
  opening.strict = signed_gallery_;
  opening.slots = purpose.decision ? (purpose.likelihood ? kGradedSlots : 1)
                                   : (verification ? 1 : purpose.publish);
  // Signed again it is the same reply.
  HEFT_ASSIGN_OR_RETURN(const ByteSpan reply, Unsigned(trusted.file, what));
  opening.reply = HashBytes(reply);
  opening.defaults = DefaultLimits(model_);
  HEFT_RETURN_IF_ERROR(journal_->Charge(opening));
  return out;
}

absl::Status KeyOwner::Impl::Publish(const Opening& opening, OpenedScores* scores) const {
  std::vector<Candidate>& all = scores->candidates;
  all.resize(std::min<size_t>(all.size(), opening.decision ? 1 : opening.slots));
  std::vector<std::string> ranked;
  for (const Candidate& candidate : all) ranked.push_back(candidate.identity);
  HEFT_ASSIGN_OR_RETURN(const std::vector<bool> may, journal_->Publish(opening, ranked));
  size_t kept = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (may[i]) std::swap(all[kept++], all[i]);
  }
  scores->withheld = all.size() - kept;
  all.resize(kept);
  return absl::OkStatus();
}

absl::StatusOr<OpenedScores> KeyOwner::Impl::Refused(const Opening& opening,
                                                     const std::map<std::string, Candidate>& best,
                                                     OpenedScores scores) const {
  const auto worth = [](const auto& named) {
    const double score = named.second.score;
    return std::isnan(score) ? std::numeric_limits<double>::infinity() : score;
  };
  const auto first = std::ranges::max_element(best, {}, worth);
  OpenedScores charged;
  if (first != best.end()) charged.candidates.push_back(first->second);
  HEFT_RETURN_IF_ERROR(Publish(opening, &charged));
  return scores;
}

absl::StatusOr<std::vector<ckks::Complex>> KeyOwner::Impl::OpenSlots(
    const ckks::Ciphertext& ciphertext, const NoiseFlooding& flooding, bool brief) const {
  const ckks::Context& context = *instance().context;
  ckks::Plaintext plain;
  if (flooding) {
    HEFT_ASSIGN_OR_RETURN(plain, ckks::DecryptFlooded(context, ciphertext, key(), *flooding));
  } else {
    plain = ckks::Decrypt(context, ciphertext, key());
  }
  std::vector<ckks::Complex> slots;
  if (!brief || HasRoom(context, plain)) slots = instance().encoder->Decode(plain);
  SecureWipe(plain.poly.values().data(), plain.poly.values().size_bytes());
  return slots;
}

absl::StatusOr<std::vector<ckks::Complex>> KeyOwner::Impl::OpenReply(const ScoreReply& reply,
                                                                     const NoiseFlooding& flooding,
                                                                     std::string* refusal) const {
  HEFT_ASSIGN_OR_RETURN(std::vector<ckks::Complex> slots,
                        OpenSlots(reply.scores, flooding, reply.brief.has_value()));
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

void KeyOwner::Impl::Rank(std::vector<Candidate>* candidates) const {
  std::stable_sort(candidates->begin(), candidates->end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  if (!model_.calibration) return;
  // Of the rounded score: what is published must not tell more than it.
  for (Candidate& c : *candidates) {
    c.log_likelihood_ratio =
        std::round(100 * model_.calibration->LogLikelihoodRatio(c.score)) / 100;
  }
}

absl::StatusOr<double> KeyOwner::Impl::OpenNorm(const EncryptedScores& scores,
                                                const NoiseFlooding& flooding,
                                                std::string* refusal) const {
  HEFT_ASSIGN_OR_RETURN(std::vector<ckks::Complex> slots,
                        OpenSlots(scores.norm, flooding, /*brief=*/false));
  const absl::StatusOr<double> norm = ReadNorm(slots, model_.gamma);
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

absl::StatusOr<OpenedScores> KeyOwner::Impl::Open(ByteSpan bytes, std::string_view what,
                                                  const std::optional<Flooding>& asked,
                                                  const Purpose& purpose) const {
  HEFT_ASSIGN_OR_RETURN(const Accepted accepted, Accept(bytes, what, FloodingFor(asked), purpose));
  const EncryptedScores& scores = accepted.scores;
  const NoiseFlooding& flooding = accepted.flooding;
  OpenedScores out;
  out.kind = scores.kind;
  out.probe = scores.probe;
  out.claimed = scores.claimed;
  if (scores.restriction) out.where = scores.restriction->where;
  HEFT_ASSIGN_OR_RETURN(const double norm, OpenNorm(scores, flooding, &out.refusal));
  if (!out.refusal.empty()) return out;
  // A thin probe's scores are to be divided by its length.
  const double length = rings_.thin() ? std::sqrt(norm) : 1;
  const double bound = ScoreBound(rings_, model_);
  std::map<std::string, Candidate> best;
  std::multimap<std::string, double> canaries;
  for (const ScoreReply& reply : scores.replies) {
    HEFT_ASSIGN_OR_RETURN(std::vector<ckks::Complex> slots,
                          OpenReply(reply, flooding, &out.refusal));
    for (const ScoreReply::Answer& answer : reply.answers) {
      const ckks::Complex slot = slots.empty() ? 0 : slots[answer.slot];
      const double cosine = (answer.lane == 0 ? slot.real() : slot.imag()) / length;
      if (!(std::abs(cosine) <= bound)) out.refusal = kNoCosine;
      const double score = RoundScore(cosine);
      const std::string identity = scores.identities.empty() ? absl::StrCat("#", answer.identity)
                                                             : scores.identities[answer.identity];
      if (canaries_ && canaries_->Names(identity)) {
        canaries.emplace(identity, cosine);
        if (scores.kind == ScoreKind::kIdentification) continue;
      }
      auto [it, fresh] = best.try_emplace(identity, Candidate{identity, score, 0, {}});
      it->second.score = std::max(it->second.score, score);
      ++it->second.templates;
    }
    SecureWipe(slots.data(), slots.size() * sizeof(slots[0]));
    if (!out.refusal.empty()) return Refused(accepted.opening, best, std::move(out));
  }
  if (canaries_) {
    out.refusal = canaries_->Check(scores, canaries, model_.approximation, rings_.thin());
    if (!out.refusal.empty()) return Refused(accepted.opening, best, std::move(out));
  }
  for (auto& [identity, candidate] : best) {
    if (scores.kind == ScoreKind::kIdentification) out.searched += candidate.templates;
    out.candidates.push_back(std::move(candidate));
  }
  Rank(&out.candidates);
  HEFT_RETURN_IF_ERROR(Publish(accepted.opening, &out));
  return out;
}

absl::StatusOr<CanarySet> KeyOwner::Impl::MakeCanaries(size_t triples,
                                                       std::vector<std::string> names) const {
  CanarySet set;
  HEFT_ASSIGN_OR_RETURN(const Canaries canaries,
                        Canaries::Make(model_, triples, std::move(names), &set));
  HEFT_ASSIGN_OR_RETURN(set.file, canaries.Seal(model_, keys_));
  return set;
}

absl::Status KeyOwner::Impl::RequireCanaries(ByteSpan file, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(canaries_, Canaries::Open(file, model_, keys_, what));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<ckks::Complex>>> KeyOwner::Impl::OpenRawSlotsUnsafe(
    ByteSpan bytes, std::string_view what) const {
  HEFT_ASSIGN_OR_RETURN(const Accepted accepted, Accept(bytes, what, {}, {}));
  std::vector<std::vector<ckks::Complex>> out;
  for (const ScoreReply& reply : accepted.scores.replies) {
    std::string refusal;
    HEFT_ASSIGN_OR_RETURN(auto slots, OpenReply(reply, {}, &refusal));
    if (!refusal.empty()) return absl::FailedPreconditionError(refusal);
    out.push_back(std::move(slots));
  }
  return out;
}

}  // namespace heft
