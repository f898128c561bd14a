// SPDX-License-Identifier: Apache-2.0
// Of samples, and of the encrypted scores that answer them.
#include <map>
#include <string>
#include <vector>

#include "fusion/matching.h"
#include "fusion/samples.h"
#include "fuzz/fuzz.h"
#include "fuzz/seeds.h"
#include "gallery/journal_head.h"
#include "gallery/scores.h"

namespace heft::fuzz {
namespace {

absl::Status WriteSamples(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng) {
  const ckks::Context& context = *SmallContext();
  using enum SampleEncoding;
  const std::map<SampleEncoding, std::string> names = {
      {kCompact, "compact"}, {kBulk, "bulk"}, {kPartial, "partial"}, {kFused, "fused"}};
  for (const auto& [encoding, name] : names) {
    for (const bool seeded : {false, true}) {
      SampleHeader header;
      header.params_id = context.params().id();
      header.key_id = secret.key_id();
      header.modality = encoding == kFused ? "" : "face";
      header.dimension = 2;
      header.encoding = encoding;
      header.run = encoding == kCompact ? 1 : 0;
      header.gamma = encoding == kBulk ? 0 : kSmallGamma;
      header.seeded = seeded;
      header.modalities = encoding == kFused ? 1 : 0;
      const std::vector<std::string> labels = {"ann", ""};
      SampleWriter writer(context, header, labels);
      for (int i = 0; i < 2; ++i) {  // two samples, or two coordinates
        HEFT_ASSIGN_OR_RETURN(const auto c, Encrypt(secret, context.params().limbs(), rng));
        if (seeded) {
          writer.Add(c);
        } else {
          writer.Add(ckks::Expand(context, c));
        }
      }
      HEFT_RETURN_IF_ERROR(
          seeds.Write("samples", name + (seeded ? "-seeded" : ""), writer.Finish()));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteScores(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng) {
  const ckks::Context& context = *SmallContext();
  HEFT_ASSIGN_OR_RETURN(const auto fresh, Encrypt(secret, ScoreLimbs(context.params()), rng));
  EncryptedScores scores;
  scores.params_id = context.params().id();
  scores.key_id = secret.key_id();
  scores.modalities = 1;
  scores.probe = "probe";
  scores.identities = {"ann", "bob"};
  scores.templates = 2;
  scores.replies = {{{}, ckks::Expand(context, fresh)}};
  scores.norm_form = NormForm::kProof;
  scores.norm = ckks::Expand(context, fresh);
  HEFT_RETURN_IF_ERROR(seeds.Write("scores", "identification", SerializeScores(context, scores)));
  scores.origin = {.generation = 3, .root = {1}, .nonce = {2}, .commitment = {3}};
  scores.head = JournalHead{secret.key_id(), 7, {1}, 2'000'000'000}.Serialize();
  HEFT_RETURN_IF_ERROR(seeds.Write("scores", "audited", SerializeScores(context, scores)));
  EncryptedScores brief = scores;
  HEFT_ASSIGN_OR_RETURN(brief.replies[0].brief,
                        ckks::Shorten(context, scores.replies[0].scores, {8, 2, 1}));
  HEFT_RETURN_IF_ERROR(seeds.Write("scores", "short", SerializeScores(context, brief)));
  EncryptedScores restricted = scores;
  Restriction restriction = {PlaceSet::None(2), 1'800'000'000, {{"site", {"berlin", "paris"}}}};
  restriction.answering.Add(1);
  restriction.where.push_back({"age", {}, 18, 30});
  Restrict(context, restriction, &restricted);
  HEFT_RETURN_IF_ERROR(seeds.Write("scores", "restricted", SerializeScores(context, restricted)));
  scores.kind = ScoreKind::kVerification;
  scores.claimed = "ann";
  scores.identities = {"ann"};
  scores.templates = 0;
  scores.replies[0].answers = {{1, 0, 0}, {3, 1, 0}};
  scores.norm_form = NormForm::kNone;
  return seeds.Write("scores", "verification", SerializeScores(context, scores));
}

}  // namespace

constexpr double kScale = 0x1p12;

absl::StatusOr<ckks::SeededCiphertext> Encrypt(const ckks::SecretKey& secret, size_t limbs,
                                               Csprng& rng) {
  const std::vector<double> values = {0.5, -0.25};
  HEFT_ASSIGN_OR_RETURN(const auto plain, SmallInstance().encoder->Encode(values, kScale, limbs));
  return ckks::EncryptSymmetric(*SmallContext(), plain, secret, rng);
}

absl::Status WriteSampleSeeds(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng) {
  HEFT_RETURN_IF_ERROR(WriteSamples(seeds, secret, rng));
  return WriteScores(seeds, secret, rng);
}

}  // namespace heft::fuzz
