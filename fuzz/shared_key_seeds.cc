// SPDX-License-Identifier: Apache-2.0
// Seeds of files of a shared key.
#include "base/signing.h"
#include "fuzz/fuzz.h"
#include "fuzz/seeds.h"
#include "heft/trust.h"
#include "owner/ceremony.h"
#include "owner/join_message.h"
#include "owner/join_state.h"
#include "owner/part_file.h"

namespace heft::fuzz {
namespace {

// Poly: of the small context, all residues alike.
ring::RnsPoly Poly(size_t limbs) {
  ring::RnsPoly poly(SmallContext()->n(), limbs);
  for (uint32_t& residue : poly.values()) residue = 3;
  return poly;
}

absl::Status WriteParts(const SeedWriter& seeds) {
  const size_t limbs = MatchLimbs(SmallInstance().params());
  PartFile part;
  part.key_id = {1};
  part.owner = 2;
  part.set = {1, 2};
  part.subject = {{{3}}, {{{4}, 5, {6}}}, {7}};
  part.openings = {{{RingName::kMatching, {8}}, Poly(1)}, {{RingName::kEnrolment, {9}}, Poly(2)}};
  HEFT_RETURN_IF_ERROR(seeds.Write("shared_keys", "opening", part.Serialize(SmallRings())));
  part.openings.clear();
  part.renewal.opened = {std::vector<ring::RnsPoly>(kSmallGamma, Poly(limbs + 1)), {}};
  part.renewal.hidden = {std::vector<ring::RnsPoly>(kSmallGamma, Poly(limbs))};
  return seeds.Write("shared_keys", "renewal", part.Serialize(SmallRings()));
}

absl::Status WriteRecords(const SeedWriter& seeds) {
  Ceremony record;
  record.key_id = {1};
  record.model_id = {2};
  record.threshold = 2;
  record.owners = {{{3}, {4}}, {{5}, {6}}};
  HEFT_RETURN_IF_ERROR(seeds.Write("shared_keys", "dealt", record.Serialize()));
  record.secrets = 2;
  record.transcript = {7};
  record.approvals = {{8}, {9}};
  return seeds.Write("shared_keys", "joint", record.Serialize());
}

absl::Status WriteMessages(const SeedWriter& seeds) {
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer,
                        SigningKeyOfSeed(std::vector<uint8_t>(kSigningSeedSize, 1)));
  const std::vector<uint8_t> body(64, 5);
  for (const JoinRound round : {JoinRound::kHello, JoinRound::kCommit, JoinRound::kRecord}) {
    JoinMessage message;
    message.round = round;
    message.owners = 2;
    message.model_id = {2};
    message.params_id = SmallInstance().params().id();
    message.transcript = FirstTranscript();
    if (round != JoinRound::kHello) message.body = body;
    HEFT_ASSIGN_OR_RETURN(const auto bytes, message.Sign(signer));
    HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(bytes, "seed"));
    HEFT_RETURN_IF_ERROR(seeds.Write("shared_keys", std::string(JoinRoundName(round)), file.file));
  }
  HEFT_ASSIGN_OR_RETURN(JoinState state, JoinState::Draw(SmallRings(), {2}, 2));
  HEFT_ASSIGN_OR_RETURN(const auto begun, state.Serialize(SmallRings(), {}));
  HEFT_RETURN_IF_ERROR(seeds.Write("shared_keys", "begun", begun));
  state.owner = 1;
  state.round = JoinRound::kRecord;
  state.signers = {{1}, {2}};
  state.commitments = {{{3}, {4}}, {{5}, {6}}};
  state.record = {1, 2, 3};
  HEFT_ASSIGN_OR_RETURN(const auto ending, state.Serialize(SmallRings(), {}));
  HEFT_RETURN_IF_ERROR(seeds.Write("shared_keys", "ending", ending));
  HEFT_ASSIGN_OR_RETURN(const auto sealed, state.Serialize(SmallRings(), "seed"));
  return seeds.Write("shared_keys", "sealed", sealed);
}

}  // namespace

absl::Status WriteSharedKeySeeds(const SeedWriter& seeds) {
  HEFT_RETURN_IF_ERROR(WriteParts(seeds));
  HEFT_RETURN_IF_ERROR(WriteRecords(seeds));
  return WriteMessages(seeds);
}

}  // namespace heft::fuzz
