// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/progress.h"
#include "exchange/ring_choice.h"
#include "fusion/key_files.h"
#include "fusion/norm_proof.h"
#include "fusion/rings.h"
#include "fusion/samples.h"
#include "gallery/scores.h"
#include "heft/seal.h"
#include "seal/keys.h"
#include "seal/objects.h"

namespace heft {
namespace {

seal::Compression Inner(SealCompression compression) {
  return static_cast<seal::Compression>(compression);
}

}  // namespace

absl::StatusOr<SealCompression> ParseSealCompression(std::string_view name) {
  if (name == "none") return SealCompression::kNone;
  if (name == "zlib") return SealCompression::kZlib;
  if (name == "zstd") return SealCompression::kZstd;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown compression \"", std::string(name), "\": give none, zlib or zstd"));
}

absl::StatusOr<SealRing> ParseSealRing(std::string_view name) {
  if (name == "matching") return SealRing::kMatching;
  if (name == "enrolment") return SealRing::kEnrolment;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown ring \"", std::string(name), "\": give matching or enrolment"));
}

absl::StatusOr<SealParameters> ExportSealParameters(const Model& model, SealCompression compression,
                                                    SealRing ring) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, ExchangeRings(model));
  const Instance& instance = InstanceOf(rings, ring);
  const ckks::Params& params = instance.params();
  SealParameters out;
  out.ring = RingOptionOf(ring);
  out.parameters = seal::WriteParams(params, Inner(compression));
  out.description = params.Describe();
  out.degree = params.n();
  out.primes = params.primes();
  out.scale = instance.plan.projection.input_scale;
  for (size_t i = 0; i < model.modalities.size(); ++i) {
    out.runs.push_back(instance.plan.projection.pairs[i / 2].run);
  }
  if (ring == SealRing::kMatching) {
    out.rotation_steps = seal::RotationSteps(params, instance.plan.keys.galois_keys);
  }
  return out;
}

absl::StatusOr<std::vector<uint8_t>> ExportSealEncryptionKey(const Model& model,
                                                             std::span<const uint8_t> key,
                                                             std::string_view what,
                                                             SealCompression compression,
                                                             SealRing ring) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, ExchangeRings(model));
  HEFT_ASSIGN_OR_RETURN(const PublicKeys parsed, ParseEncryptionKeys(rings, key, what));
  return seal::WritePublicKey(
      *InstanceOf(rings, ring).context,
      seal::FromPublicKey(ring == SealRing::kMatching ? parsed.matching() : parsed.enrolment),
      Inner(compression));
}

absl::StatusOr<SealSamples> ExportSealSamples(const Model& model, SampleFile samples,
                                              SealCompression compression, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, ExchangeRings(model));
  const bool matching = SampleParamsId(samples.bytes) == rings.matching.params().id();
  const Instance& instance = matching ? rings.matching : rings.enrolment;
  HEFT_ASSIGN_OR_RETURN(
      const SampleReader reader,
      SampleReader::Parse(instance.context, std::move(samples.bytes), std::move(samples.name)));
  const Progress progress(monitor, "writing ciphertexts");
  SealSamples out;
  out.bulk = reader.bulk();
  out.labels = reader.labels();
  const size_t count = out.bulk ? reader.header().dimension : reader.size();
  for (size_t i = 0; i < count; ++i) {
    HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext ciphertext,
                          out.bulk ? reader.Coordinate(i) : reader.Sample(i));
    out.ciphertexts.push_back(
        seal::WriteCiphertext(*instance.context, ciphertext, Inner(compression)));
    HEFT_RETURN_IF_ERROR(progress.Step(i + 1, count));
  }
  return out;
}

namespace {

// ScoreFactors: the signs, and the factor of short replies. SEAL allows no scale above the modulus,
// so the message contains the factor.
std::vector<double> ScoreFactors(const Instance& matching, const EncryptedScores& scores) {
  std::vector<double> factors;
  const FusionPlan& plan = matching.plan;
  if (!plan.matching.short_replies) return factors;
  const bool brief = !scores.replies.empty() && scores.replies[0].brief;
  const double raised = brief ? std::ldexp(1.0, -scores.replies[0].brief->form.raised) : 1;
  const uint32_t slots = matching.params().slots();
  for (uint32_t i = 0; i < 2 * slots; ++i) {
    factors.push_back(raised * SlotSign(plan, i % slots, i / slots));
  }
  return factors;
}

}  // namespace

absl::StatusOr<SealScores> ExportSealScores(const Model& model, std::span<const uint8_t> scores,
                                            std::string_view what, SealCompression compression) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, ExchangeRings(model));
  const ckks::Context& context = *rings.matching.context;
  HEFT_ASSIGN_OR_RETURN(EncryptedScores parsed, ParseScores(context, scores, what));
  if (parsed.norm_form == NormForm::kNone) {
    return absl::DataLossError(absl::StrCat(std::string(what), ": the probe's norm is missing"));
  }
  SealScores out;
  out.factors = ScoreFactors(rings.matching, parsed);
  out.kind = parsed.kind;
  out.probe = std::move(parsed.probe);
  out.claimed = std::move(parsed.claimed);
  out.templates = parsed.templates;
  out.identities = std::move(parsed.identities);
  const bool verification = out.kind == ScoreKind::kVerification;
  const std::vector<uint64_t> blocks =
      verification ? std::vector<uint64_t>(parsed.replies.size()) : ReplyBlocks(context, parsed);
  for (size_t i = 0; i < parsed.replies.size(); ++i) {
    const ScoreReply& reply = parsed.replies[i];
    out.replies.emplace_back();
    out.replies.back().block = blocks[i];
    ckks::Ciphertext full = reply.Full(context);
    if (reply.brief) full.scale = std::ldexp(full.scale, -reply.brief->form.raised);
    out.replies.back().ciphertext = seal::WriteCiphertext(context, full, Inner(compression));
    if (!verification && !parsed.restriction) continue;
    for (const ScoreReply::Answer& answer : reply.answers) {
      out.replies.back().answers.push_back({answer.slot, answer.lane});
    }
  }
  out.squared_norm = seal::WriteCiphertext(context, parsed.norm, Inner(compression));
  out.squared_norm_turned =
      seal::WriteCiphertext(context, TurnedNorm(context, parsed.norm), Inner(compression));
  return out;
}

}  // namespace heft
