// SPDX-License-Identifier: Apache-2.0
// A gallery's way from one shared key to another: a re-keying key is linear in both secrets, so
// each owner that has shares of both makes a part of it, and the sum is the key.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/inside.h"
#include "ckks/owner/joint_keys.h"
#include "fusion/rekey.h"
#include "heft/key_set.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

// Succession: the owner's shares of the old key and the new one.
struct Succession {
  const KeyOwner::Impl& old;
  const KeyOwner::Impl& next;

  const ckks::Context& context() const { return *old.instance().context; }
  PartSubject Subject() const {
    return {{next.ceremony().digest}, {}, HashBytes(AsBytes("rekeying"))};
  }
};

absl::StatusOr<Succession> SuccessionOf(const KeyOwner& old, const KeyOwner& next) {
  const auto from = old.shared(), to = next.shared();
  if (!from || !to) {
    return absl::FailedPreconditionError(
        "both keys must be shares here: a whole key is renewed with heft rekey alone");
  }
  if (old.key_id() == next.key_id()) {
    return absl::InvalidArgumentError("both shares are of one key: make a new one first");
  }
  if (from->owner != to->owner || from->threshold != to->threshold) {
    return absl::FailedPreconditionError(
        absl::StrCat("this is owner ", from->owner, " of the old key, of which ", from->threshold,
                     " open, and owner ", to->owner, " of the new one, of which ", to->threshold,
                     " open: an owner keeps its number, and as many must open"));
  }
  const Succession both = {Inside::Of(old), Inside::Of(next)};
  if (both.old.model().Id() != both.next.model().Id()) {
    return absl::FailedPreconditionError("the two keys are for different models");
  }
  return both;
}

// OwnPart: this owner's. Its seed is common to the set. Two parts with one seed would tell the
// noise, so HandOn gives one.
absl::StatusOr<ckks::SeededSwitchKey> OwnPart(const Succession& both, const OwnerSet& set) {
  HEFT_RETURN_IF_ERROR(ckks::CheckOwnerSet(both.next.ceremony().ceremony.sharing(), set));
  ByteWriter writer;
  writer.Raw(AsBytes("HEFT rekeying by several owners, version 1"));
  writer.Raw(both.old.ceremony().digest);
  writer.Raw(both.next.ceremony().digest);
  writer.U32Array(set);
  const Seed common = HashBytes(writer.bytes());
  const ckks::Context& context = both.context();
  HEFT_ASSIGN_OR_RETURN(const auto from,
                        ckks::TermOf(context, both.old.held().share()->matching, set));
  HEFT_ASSIGN_OR_RETURN(const auto to,
                        ckks::TermOf(context, both.next.held().share()->matching, set));
  Csprng rng;
  return ckks::MakeRekeyingKey(context, from, to, MatchLimbs(context.params()), rng, &common);
}

// Rename: durably.
absl::Status Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot write ", to, ": ", strerror(errno)));
  }
  return SyncDirectory(std::filesystem::path(to).parent_path().string());
}

// WriteOnce: writes a part under `path`, once for its seed.
absl::Status WriteOnce(QueryJournal& journal, const Seed& seed, const std::string& path,
                       ByteSpan file) {
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(path, file));
  const Digest digest = HashBytes(file);
  const absl::Status recorded = journal.RecordOnce(
      HashBytes(seed),
      "this owner has given its part of this re-keying before, and gives one: make another new key "
      "(heft keygen --owners)",
      &digest);
  if (!recorded.ok()) unlink(path.c_str());
  return recorded;
}

// HandOn: writes the file, then hands the counts on and revokes the old share. The file has its
// name only after the journal has its seed, so that no second one is made with it. After a crash or
// an error it lies there or beside the name, and the next call finishes with it.
absl::Status HandOn(const Succession& both, const Seed& seed, const std::string& path,
                    ByteSpan file) {
  QueryJournal& old = both.old.journal();
  HEFT_RETURN_IF_ERROR(old.CheckInUse());
  HEFT_RETURN_IF_ERROR(both.next.journal().CheckUnused());
  const std::string unfinished = path + ".unfinished";
  const auto recorded = [&](const std::string& name) -> absl::StatusOr<bool> {
    const auto left = ReadFile(name);
    return left.ok() ? old.HasRecorded(HashBytes(*left)) : false;
  };
  HEFT_ASSIGN_OR_RETURN(const bool named, recorded(path));
  if (FileExists(path) && !named) {
    return absl::AlreadyExistsError(absl::StrCat(path, " exists: choose another file"));
  }
  if (!named) {
    HEFT_ASSIGN_OR_RETURN(const bool made, recorded(unfinished));
    if (!made) HEFT_RETURN_IF_ERROR(WriteOnce(old, seed, unfinished, file));
    HEFT_RETURN_IF_ERROR(Rename(unfinished, path));
  }
  const absl::Status passed = old.PassOnTo(both.next.journal());
  if (!passed.ok()) HEFT_RETURN_IF_ERROR(Rename(path, unfinished));
  return passed;
}

}  // namespace

absl::Status GiveRekeyingPart(const KeyOwner& old, const KeyOwner& next, const OwnerSet& owners,
                              const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const Succession both, SuccessionOf(old, next));
  HEFT_RETURN_IF_ERROR(both.old.CheckOwnSet(owners));
  HEFT_ASSIGN_OR_RETURN(ckks::SeededSwitchKey key, OwnPart(both, owners));
  const Seed seed = key.seed;
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> file,
                        both.old.SignPart(both.Subject(), owners, {}, {}, std::move(key)));
  return HandOn(both, seed, path, file);
}

absl::Status CombineRekeyingKey(const KeyOwner& old, const KeyOwner& next,
                                std::span<const ReplyFile> files, const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const Succession both, SuccessionOf(old, next));
  HEFT_ASSIGN_OR_RETURN(const std::vector<PartFile> parts,
                        both.old.ReadParts(both.Subject(), files));
  HEFT_ASSIGN_OR_RETURN(ckks::SeededSwitchKey sum, OwnPart(both, parts[0].set));
  for (const PartFile& part : parts) {
    if (!part.rekeying || part.rekeying->seed != sum.seed || part.rekeying->limbs != sum.limbs) {
      return absl::DataLossError(
          absl::StrCat("the part of owner ", part.owner, " is of another re-keying key"));
    }
    ckks::AddPart(both.context(), *part.rekeying, &sum);
  }
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, next.Signer());
  HEFT_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> file,
      signer.Sign({.role = Role::kKeyOwner},
                  SerializeRekeyingKey(both.context(), old.key_id(), next.key_id(), sum)));
  return HandOn(both, sum.seed, path, file);
}

}  // namespace heft
