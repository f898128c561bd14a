// SPDX-License-Identifier: Apache-2.0
// Which replies may be opened: read, looked at, and charged.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/signed_file.h"
#include "fusion/errors.h"
#include "fusion/key_files.h"
#include "fusion/norm_proof.h"
#include "owner/complete_replies.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

// The file is not authenticated, and the scale decides the value of a score: a changed scale
// changes the step to which we round. So it must be the plan's, and the ciphertext of the form that
// a server makes.
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

// PrepareFlooding: how the ciphertexts of a reply, or of all that answer one search, are flooded.
// Their noise is spread over all of them, so that an opening costs the same however many there are.
// The other half of the allowance is left to the proofs of admissions. The noise that a file states
// is its writer's word, so at least the noise of an honest reply is assumed.
absl::StatusOr<ckks::FloodingOptions> PrepareFlooding(const Instance& instance,
                                                      const Flooding& flooding, uint32_t parts,
                                                      uint32_t secrets,
                                                      std::vector<ReadReply>* replies) {
  const ckks::Params& params = instance.params();
  const FusionPlan& plan = instance.plan;
  uint64_t ciphertexts = 0;
  for (const ReadReply& reply : *replies) ciphertexts += reply.scores.replies.size() + 1;
  ckks::FloodingOptions options = {flooding.security_bits, 2 * flooding.openings * ciphertexts};
  options.parts = parts;
  options.secrets = secrets;
  auto prepare = [&](ckks::Ciphertext& c, double error) {
    if (c.size() != 2) {
      return absl::FailedPreconditionError(
          "a reply of degree two has no room for noise flooding: identify without --degree-two");
    }
    c.noise.message = std::max(c.noise.message, 1.0);
    c.noise.error = std::max(c.noise.error, error * c.scale);
    return ckks::CheckFloodingRoom(params, c, options);
  };
  for (ReadReply& read : *replies) {
    EncryptedScores& scores = read.scores;
    const double error = ScoreError(params, plan, scores.kind == ScoreKind::kVerification);
    for (ScoreReply& reply : scores.replies) HEFT_RETURN_IF_ERROR(prepare(reply.scores, error));
    HEFT_RETURN_IF_ERROR(prepare(scores.norm, NormProofError(params, plan)));
  }
  return options;
}

}  // namespace

std::optional<Flooding> KeyOwner::Impl::FloodingFor(const std::optional<Flooding>& asked) const {
  if (!flooded_) return asked;
  Flooding least;
  least.openings /= Secrets();  // a joint key's errors are larger, and its floods are not
  Flooding flooding = asked.value_or(least);
  flooding.openings = std::max(flooding.openings, least.openings);
  return flooding;
}

ClientId KeyOwner::Impl::ListedClient(const ClientId& client) const {
  if (!trust_ || !trust_->Lists(Role::kClient)) return client;
  // A server takes requests of all three roles (matcher/server_signing.cc).
  for (const Role role : {Role::kClient, Role::kRegistrar, Role::kKeyOwner}) {
    if (std::ranges::count(trust_->keys(role), client, &Trust::Key::key) > 0) return client;
  }
  return kUnlistedClient;
}

absl::StatusOr<std::vector<KeyOwner::Impl::TrustedReply>> KeyOwner::Impl::CheckReplies(
    const Replies& replies) const {
  std::vector<TrustedReply> out;
  for (const ReplyFile& file : replies.files) {
    HEFT_ASSIGN_OR_RETURN(TrustedReply trusted, CheckSigned(file.bytes, "SCOR", file.what));
    out.push_back(std::move(trusted));
  }
  return out;
}

absl::Status KeyOwner::Impl::CheckBelongs(const EncryptedScores& scores,
                                          std::string_view what) const {
  HEFT_RETURN_IF_ERROR(CheckKeyId(key_id(), scores.key_id, what));
  if (scores.model_id != model_id_) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": scores of another model"));
  }
  if ((scores.modalities & ~model_.AllModalities()) == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(std::string(what), ": a probe with the set of modalities ", scores.modalities,
                   ", which has others than the model, whose set is ", model_.AllModalities()));
}

absl::StatusOr<ReadReply> KeyOwner::Impl::ReadOne(const TrustedReply& trusted,
                                                  std::string_view what) const {
  ReadReply out;
  out.what = what;
  out.client = trusted.client;
  out.request = trusted.request;
  out.hash = trusted.hash;
  EncryptedScores& scores = out.scores;
  HEFT_ASSIGN_OR_RETURN(scores,
                        ParseScores(*instance().context, trusted.file, what, trusted.checksum));
  HEFT_RETURN_IF_ERROR(CheckBelongs(scores, what));
  HEFT_ASSIGN_OR_RETURN(out.heads, OpenHeads(scores.head, what));
  for (ScoreReply& reply : scores.replies) {
    if (reply.brief) HEFT_RETURN_IF_ERROR(LengthenReply(instance(), &reply, what));
  }
  HEFT_RETURN_IF_ERROR(CheckForms(rings_, scores, what));
  // The charged slot must be the opened one.
  if (scores.kind == ScoreKind::kVerification &&
      (scores.claimed.empty() || scores.identities[0] != scores.claimed)) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": a verification of another identity than the claimed"));
  }
  if (trusted.gallery && (*trusted.gallery != scores.origin.gallery ||
                          trusted.generation != scores.origin.generation)) {
    return absl::FailedPreconditionError(absl::StrCat(
        std::string(what), ": made from another gallery, or generation, than it is signed for"));
  }
  return out;
}

absl::StatusOr<std::vector<ReadReply>> KeyOwner::Impl::Read(
    const Replies& replies, const std::vector<TrustedReply>& trusted) const {
  if (replies.shards == nullptr && replies.files.size() != 1) {
    return absl::InvalidArgumentError(
        "one reply at a time: several are those of a gallery in buckets, with its shard list");
  }
  std::vector<ReadReply> out;
  for (size_t i = 0; i < trusted.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(ReadReply read, ReadOne(trusted[i], replies.files[i].what));
    out.push_back(std::move(read));
  }
  if (replies.shards != nullptr) HEFT_RETURN_IF_ERROR(CheckComplete(*replies.shards, &out));
  return out;
}

Opening KeyOwner::Impl::OpeningOf(const std::vector<ReadReply>& replies,
                                  const std::optional<Flooding>& flooding,
                                  const Purpose& purpose) const {
  const ReadReply& first = replies[0];
  const bool verification = first.scores.kind == ScoreKind::kVerification;
  Opening opening;
  if (flooding) opening.most = flooding->openings / Witnesses();
  opening.model = first.scores.model_id;
  opening.verification = verification;
  opening.claimed = first.scores.claimed;
  opening.client = ListedClient(first.client);
  opening.decision = purpose.decision;
  opening.given = purpose.given;
  if (purpose.decision && !verification) opening.few = FewAsked(replies, purpose.besides);
  for (const ReadReply& reply : replies) {
    const ReplyOrigin& origin = reply.scores.origin;
    if (origin.gallery != GalleryId{}) {
      opening.states.push_back({origin.gallery, origin.generation, origin.root});
    }
    opening.replies.push_back(reply.hash);
    opening.heads.insert(opening.heads.end(), reply.heads.begin(), reply.heads.end());
  }
  opening.strict = signed_gallery_;
  opening.gallery = purpose.gallery;
  opening.slots = purpose.decision ? (purpose.likelihood ? kGradedSlots : 1)
                                   : (verification ? 1 : purpose.publish);
  if (!flooded_) {
    const double error = ScoreError(instance().params(), instance().plan, verification);
    uint64_t most = verification ? 1 : 0;  // that can be published
    for (const ReadReply& reply : replies) most += reply.scores.AnsweringTemplates();
    const uint64_t published = purpose.decision ? 1 : std::min<uint64_t>(opening.slots, most);
    opening.told = published * KeyUnits(purpose.decision, error);
    opening.most_told = MostKeyUnits(static_cast<uint32_t>(instance().params().n()));
  }
  opening.defaults = defaults_;
  opening.no_scores = no_scores_;
  return opening;
}

absl::StatusOr<KeyOwner::Impl::Accepted> KeyOwner::Impl::Accept(
    std::vector<ReadReply> replies, const std::optional<Flooding>& flooding,
    const Purpose& purpose) const {
  Accepted out;
  out.replies = std::move(replies);
  if (flooding) {
    HEFT_ASSIGN_OR_RETURN(out.flooding,
                          PrepareFlooding(instance(), *flooding, Parts(), Secrets(), &out.replies));
  }
  out.opening = OpeningOf(out.replies, flooding, purpose);
  HEFT_RETURN_IF_ERROR(journal_->Charge(out.opening));
  return out;
}

}  // namespace heft
