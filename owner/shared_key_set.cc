// SPDX-License-Identifier: Apache-2.0
// A dealer's ceremony: it makes a key, deals its shares, signs the record and wipes the key.
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/passphrase.h"
#include "base/progress.h"
#include "base/secure.h"
#include "base/signed_file.h"
#include "heft/key_set.h"
#include "owner/ceremony.h"
#include "owner/key_owner_impl.h"
#include "owner/share_files.h"

namespace heft {
namespace {

// SharedPaths: where a shared key set lies.
struct SharedPaths {
  explicit SharedPaths(std::string directory) : folder(std::move(directory)) {}
  std::string Of(const std::string& name) const { return absl::StrCat(folder, "/", name); }
  std::string Owner(uint32_t owner) const { return Of(OwnerName(owner)); }
  std::string Share(uint32_t owner) const { return Owner(owner) + "/share.key"; }

  absl::Status CheckVacant(uint32_t owners) const {
    std::vector<std::string> paths = {Of("secret.key"),      Of("encryption.key"),
                                      Of("evaluation.keys"), Of("enrolment.keys"),
                                      Of("trust.heft"),      Of("ceremony.heft")};
    for (uint32_t owner = 1; owner <= owners; ++owner) {
      paths.push_back(Share(owner));
      paths.push_back(Share(owner) + kJournalSuffix);
    }
    for (const std::string& path : paths) {
      if (!FileExists(path)) continue;
      return absl::AlreadyExistsError(
          absl::StrCat(path, " exists: keys are never overwritten, choose another folder"));
    }
    return absl::OkStatus();
  }
  void Remove(uint32_t owners) const {
    for (const char* name :
         {"encryption.key", "evaluation.keys", "enrolment.keys", "trust.heft", "ceremony.heft"}) {
      unlink(Of(name).c_str());
      for (uint32_t owner = 1; owner <= owners; ++owner) {
        unlink((Owner(owner) + "/" + name).c_str());
      }
    }
    for (uint32_t owner = 1; owner <= owners; ++owner) {
      unlink(Share(owner).c_str());
      rmdir(Owner(owner).c_str());
    }
  }
  std::string folder;
};

absl::StatusOr<Digest> FileDigest(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  return HashBytes(bytes);
}

absl::StatusOr<SignerKey> SignerOf(const HeldKey& held) {
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, OwnerSigner(held));
  return signer.public_key();
}

void DiscardJournals(const SharedPaths& paths, const std::vector<HeldKey>& shares) {
  for (const HeldKey& held : shares) {
    auto keys = JournalKeys::Derive(held);
    if (!keys.ok()) continue;
    QueryJournal::OnDisk(paths.Share(held.share()->owner()) + kJournalSuffix, *std::move(keys))
        ->Discard();
  }
}

// Deal writes the whole set. After a failure the caller removes the files.
absl::StatusOr<SharedKeySet> Deal(const KeyOwner& dealer, const SharedPaths& paths,
                                  uint32_t threshold, const std::vector<Wiped>& passphrases,
                                  std::vector<HeldKey>* shares, const Monitor& monitor) {
  const Rings& rings = Inside::Of(dealer).rings();
  Ceremony ceremony;
  ceremony.key_id = dealer.key_id();
  ceremony.model_id = Inside::Of(dealer).model().Id();
  ceremony.threshold = threshold;
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, dealer.Signer());
  ceremony.dealer = signer.public_key();
  for (const HeldKey& held : *shares) {
    HEFT_ASSIGN_OR_RETURN(const SignerKey owner, SignerOf(held));
    HEFT_ASSIGN_OR_RETURN(const Digest share, ShareDigest(rings, *held.share()));
    ceremony.owners.push_back({owner, share});
  }
  HEFT_ASSIGN_OR_RETURN(const Trust trust, ceremony.Signers());
  HEFT_RETURN_IF_ERROR(MakeDirectories(paths.folder));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(paths.Of("trust.heft"), trust.Serialize()));
  SharedKeySet set;
  HEFT_ASSIGN_OR_RETURN(set.keys, MakePublicKeys(dealer, paths.folder, monitor));
  HEFT_ASSIGN_OR_RETURN(ceremony.encryption_key, FileDigest(set.keys.encryption_key));
  HEFT_ASSIGN_OR_RETURN(ceremony.evaluation_keys, FileDigest(set.keys.evaluation_keys));
  HEFT_ASSIGN_OR_RETURN(ceremony.enrolment_keys, FileDigest(set.keys.enrolment_keys));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> record,
                        signer.Sign({.role = Role::kKeyOwner}, ceremony.Serialize()));
  set.ceremony = paths.Of("ceremony.heft");
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(set.ceremony, record));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> listed, ReadFile(set.keys.trust));
  const std::string text(listed.begin(), listed.end());
  for (size_t i = 0; i < shares->size(); ++i) {
    KeyShare& share = *(*shares)[i].share();
    share.ceremony = record;
    HEFT_RETURN_IF_ERROR(WriteOwnerFiles(paths.Owner(share.owner()), rings, (*shares)[i], text,
                                         passphrases.empty() ? "" : passphrases[i].text));
    set.shares.push_back(paths.Share(share.owner()));
  }
  HEFT_ASSIGN_OR_RETURN(const SecretFile written, ReadSecretFile(set.shares[0], 1 << 22));
  set.share_bytes = written.bytes.size();
  set.threshold = threshold;
  return set;
}

}  // namespace

Json SharedKeySetJson(const SharedKeySet& set) {
  Json json = KeySetJson(set.keys);
  json["owners"] = set.shares.size();
  json["threshold"] = set.threshold;
  json["shares"] = set.shares;
  json["share_bytes"] = set.share_bytes;
  json["ceremony"] = set.ceremony;
  return json;
}

absl::StatusOr<SharedKeySet> MakeSharedKeySet(const Model& model, const std::string& folder,
                                              uint32_t owners, uint32_t threshold,
                                              const std::vector<PassphraseSource>& passphrases,
                                              const Monitor& monitor) {
  const ckks::Sharing sharing = {owners, threshold};
  HEFT_RETURN_IF_ERROR(ckks::CheckSharing(sharing));
  HEFT_RETURN_IF_ERROR(CheckShareable(model, threshold));
  if (!passphrases.empty() && passphrases.size() != owners) {
    return absl::InvalidArgumentError(absl::StrCat(passphrases.size(), " passphrases for ", owners,
                                                   " owners: give one for each, in their order"));
  }
  const SharedPaths paths(folder);
  HEFT_RETURN_IF_ERROR(paths.CheckVacant(owners));
  std::vector<Wiped> asked(passphrases.size());
  for (size_t i = 0; i < passphrases.size(); ++i) {
    HEFT_RETURN_IF_ERROR(AskPassphrase(passphrases[i], &asked[i]));
  }
  HEFT_ASSIGN_OR_RETURN(const KeyOwner dealer, KeyOwner::Generate(model));
  const KeyOwner::Impl& whole = Inside::Of(dealer);
  HEFT_RETURN_IF_ERROR(CheckRoom(whole.rings(), threshold, /*secrets=*/1));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(auto dealt, ShareKeys(whole.rings(), whole.keys(), sharing, rng));
  std::vector<HeldKey> shares;
  for (KeyShare& share : dealt) shares.emplace_back(std::move(share));
  auto set = Deal(dealer, paths, threshold, asked, &shares, monitor);
  if (!set.ok()) {
    DiscardJournals(paths, shares);
    paths.Remove(owners);
  }
  return set;
}

absl::StatusOr<CeremonyCheck> CheckCeremony(const KeyOwner& owner, const std::string& folder) {
  const KeyOwner::Impl& impl = Inside::Of(owner);
  const std::optional<SharedKey> shared = owner.shared();
  if (!shared) {
    return absl::FailedPreconditionError("a whole key, which no ceremony has shared");
  }
  const SignedCeremony& record = impl.ceremony();
  const Ceremony& ceremony = record.ceremony;
  const std::pair<const char*, Digest> files[] = {{"encryption.key", ceremony.encryption_key},
                                                  {"evaluation.keys", ceremony.evaluation_keys},
                                                  {"enrolment.keys", ceremony.enrolment_keys}};
  for (const auto& [name, digest] : files) {
    const std::string path = absl::StrCat(folder, "/", name);
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
    ByteSpan file = bytes;
    // The owners of a joint key agreed on the content, which owner 1 then signed.
    if (ceremony.joint()) {
      HEFT_ASSIGN_OR_RETURN(file, Unsigned(bytes, path));
    }
    if (HashBytes(file) == digest) continue;
    return absl::DataLossError(absl::StrCat(
        path, ": not the file of this key's ceremony: damaged, or exchanged; do not use it"));
  }
  // After a renewal the record commits to the messages, which TakeNewShare has compared.
  HEFT_ASSIGN_OR_RETURN(const Digest share, ShareDigest(impl.rings(), *impl.held().share()));
  if (ceremony.renewal == 0 && share != ceremony.owner(shared->owner).share) {
    return absl::DataLossError("this share is not the one that the ceremony's record commits to");
  }
  HEFT_ASSIGN_OR_RETURN(const SignerKey signer, SignerOf(impl.held()));
  if (signer != ceremony.owner(shared->owner).signer) {
    return absl::DataLossError("the ceremony's record lists another signing key for this owner");
  }
  CeremonyCheck out = {*shared, owner.key_id(),  record.when, ceremony.dealer, record.digest,
                       {},      ceremony.joint()};
  for (const Ceremony::Owner& one : ceremony.owners) out.owners.push_back(one.signer);
  return out;
}

Json CeremonyCheckJson(const CeremonyCheck& check) {
  Json json = {{"key_id", HexString(check.key_id)},
               {"owner", check.shared.owner},
               {"owners", check.shared.owners},
               {"threshold", check.shared.threshold},
               {"renewal", check.shared.renewal},
               {"time", UtcJson(check.time)},
               {"dealer", HexString(check.dealer)},
               {"ceremony", HexString(check.digest)},
               {"joint", check.joint}};
  json["signers"] = Json::array();
  for (const SignerKey& signer : check.owners) json["signers"].push_back(HexString(signer));
  return json;
}

}  // namespace heft
