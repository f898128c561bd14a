// SPDX-License-Identifier: Apache-2.0
#include "owner/share_files.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/secure.h"
#include "fusion/errors.h"
#include "fusion/norm_proof.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

// kMaxOpen: with more, a model of 64 dimensions has no room for the sum of their floods.
constexpr uint32_t kMaxOpen = 3;

}  // namespace

absl::Status CheckShareable(const Model& model, uint32_t threshold) {
  if (threshold > kMaxOpen) {
    return absl::InvalidArgumentError(
        absl::StrCat("an opening by ", threshold, " owners: at most ", kMaxOpen,
                     ", whose noise adds up to as much as profile flooded has room for"));
  }
  if (model.profile != "flooded") {
    return absl::FailedPreconditionError(
        absl::StrCat("a model of profile ", model.profile,
                     ", whose openings have no room for the noise that "
                     "protects a shared key: heft train --profile flooded"));
  }
  return absl::OkStatus();
}

absl::Status CheckRoom(const Rings& rings, uint32_t threshold, uint32_t secrets) {
  const Instance& ring = rings.matching;
  const ckks::Params& params = ring.params();
  const FusionPlan::Matching& matching = ring.plan.matching;
  ckks::FloodingOptions options = {Flooding().security_bits,
                                   uint64_t{4} * Flooding().openings / secrets};
  options.parts = threshold;
  options.secrets = secrets;
  const std::pair<double, double> opened[] = {
      {NormProofError(params, ring.plan), NormProofScale(params, ring.plan)},
      {ScoreError(params, ring.plan, /*masked=*/false), matching.score_scale},
      {ScoreError(params, ring.plan, /*masked=*/true), matching.verified_scale}};
  for (const auto& [error, scale] : opened) {
    ckks::Ciphertext c;
    c.parts.assign(2, ring::RnsPoly(params.n(), ScoreLimbs(params)));
    c.scale = scale;
    c.noise.error = error * scale;
    const absl::Status room = ckks::CheckFloodingRoom(params, c, options);
    if (room.ok()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("this model has no room for the noise of ", threshold,
                     " owners: choose a smaller --threshold, or train fewer dimensions (",
                     std::string(room.message()), ")"));
  }
  return absl::OkStatus();
}

void DescribeParameters(const Rings& rings, KeySet* set) {
  set->parameters = rings.enrolment.params().Describe();
  set->security = rings.enrolment.params().security().Describe();
  if (!rings.thin()) return;
  absl::StrAppend(&set->parameters, "; ", rings.matching.params().Describe());
  absl::StrAppend(&set->security, "; ", rings.matching.params().security().Describe());
}

absl::Status WriteShare(const Rings& rings, const KeyShare& share, const std::string& passphrase,
                        const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, SerializeKeyShare(rings, share, passphrase));
  const absl::Status written = WriteFileAtomic(path, bytes, 0600);
  SecureWipe(bytes.data(), bytes.size());
  return written;
}

absl::Status WriteNewShare(const Rings& rings, const HeldKey& held, const std::string& passphrase,
                           const std::string& path, const std::string& reason) {
  HEFT_ASSIGN_OR_RETURN(JournalKeys keys, JournalKeys::Derive(held));
  const auto journal = QueryJournal::OnDisk(path + kJournalSuffix, std::move(keys));
  HEFT_RETURN_IF_ERROR(journal->Start(reason));
  const absl::Status written = WriteShare(rings, *held.share(), passphrase, path);
  if (!written.ok()) journal->Discard();
  return written;
}

absl::Status WriteOwnerFiles(const std::string& folder, const Rings& rings, const HeldKey& held,
                             const std::string& trust, const std::string& passphrase) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/trust.heft", trust));
  HEFT_RETURN_IF_ERROR(
      WriteFileAtomic(folder + "/ceremony.heft", ByteSpan(held.share()->ceremony)));
  return WriteNewShare(rings, held, passphrase, folder + "/share.key", "with the share of a key");
}

}  // namespace heft
