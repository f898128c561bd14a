// SPDX-License-Identifier: Apache-2.0
#include "heft/key_set.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/passphrase.h"
#include "base/progress.h"
#include "base/secure.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/rekey.h"
#include "owner/key_owner_impl.h"
#include "owner/share_files.h"

namespace heft {
namespace {

// Paths: where a key set lies.
struct Paths {
  explicit Paths(const std::string& directory)
      : folder(directory),
        secret(directory + "/secret.key"),
        encryption(directory + "/encryption.key"),
        evaluation(directory + "/evaluation.keys"),
        enrolment(directory + "/enrolment.keys"),
        rekeying(directory + "/rekeying.key"),
        trust(directory + "/trust.heft"),
        journal(secret + kJournalSuffix) {}
  std::string folder, secret, encryption, evaluation, enrolment, rekeying, trust, journal;

  absl::Status CheckVacant() const {
    for (const std::string& path : {secret, encryption, evaluation, enrolment, trust}) {
      if (FileExists(path)) {
        return absl::AlreadyExistsError(absl::StrCat(
            path,
            " exists: keys are never overwritten, choose another folder"
            " (or give --secret-key to make new evaluation keys for an existing secret)"));
      }
    }
    return absl::OkStatus();
  }
  // After a failure: a second attempt must not find half a set.
  void Remove() const {
    for (const std::string& path : {secret, encryption, evaluation, enrolment, trust}) {
      unlink(path.c_str());
    }
  }
};

absl::Status WriteSecretKey(const KeyOwner::Impl& owner, const std::string& passphrase,
                            const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes,
                        SerializeSecretKeys(owner.rings(), owner.keys(), passphrase));
  const absl::Status written = WriteFileAtomic(path, bytes, 0600);
  SecureWipe(bytes.data(), bytes.size());
  return written;
}

// The trust file of a set: `trust`, or the file at `path` if there is one, with the owner in it.
absl::StatusOr<std::string> TrustWith(const KeyOwner& owner, const SignerKey& key,
                                      const std::string& path, Trust trust) {
  if (FileExists(path)) {
    HEFT_ASSIGN_OR_RETURN(trust, Trust::Load(path));
  }
  const auto& known = trust.keys(Role::kKeyOwner);
  if (std::ranges::count(known, key, &Trust::Key::key) == 0) {
    const std::string name = "key-" + HexString(owner.key_id()).substr(0, 8);
    HEFT_RETURN_IF_ERROR(trust.Add(Role::kKeyOwner, name, key));
  }
  return trust.Serialize();
}

// The file signed by the key owner, for anybody and without an end.
absl::StatusOr<std::vector<uint8_t>> Signed(const SigningKey& signer, ByteSpan file) {
  return signer.Sign({.role = Role::kKeyOwner}, file);
}

// Makes the public keys and writes the set, the secret key last: without it the others are of no
// use, with it they must be there. `journal`, if any, is begun before it. Without `passphrase` it
// is left out, and keys that are there are replaced.
absl::StatusOr<KeySet> Write(const KeyOwner& owner, const Paths& paths, const Wiped* passphrase,
                             const Monitor& monitor, QueryJournal* journal,
                             const Trust& others = {}) {
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> evaluation, owner.EvaluationKeys(monitor));
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> enrolment, owner.EnrolmentKeys(monitor));
  // All that takes memory comes before the first file.
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, owner.Signer());
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> encryption,
                        Signed(signer, owner.EncryptionKey()));
  HEFT_ASSIGN_OR_RETURN(evaluation, Signed(signer, evaluation));
  if (!enrolment.empty()) {
    HEFT_ASSIGN_OR_RETURN(enrolment, Signed(signer, enrolment));
  }
  HEFT_ASSIGN_OR_RETURN(const std::string trust,
                        TrustWith(owner, signer.public_key(), paths.trust, others));
  if (Stopped(monitor)) return absl::CancelledError("interrupted");
  HEFT_RETURN_IF_ERROR(MakeDirectories(paths.folder));
  absl::Status written = WriteFileAtomic(paths.trust, trust);
  if (written.ok()) written = WriteFileAtomic(paths.encryption, encryption);
  if (written.ok()) written = WriteFileAtomic(paths.evaluation, evaluation);
  if (written.ok() && !enrolment.empty()) written = WriteFileAtomic(paths.enrolment, enrolment);
  const absl::Status begun =
      written.ok() && journal != nullptr ? journal->Start("with the key") : absl::OkStatus();
  if (written.ok()) written = begun;
  if (written.ok() && passphrase != nullptr) {
    written = WriteSecretKey(Inside::Of(owner), passphrase->text, paths.secret);
  }
  if (!written.ok()) {
    if (passphrase != nullptr) paths.Remove();
    if (journal != nullptr && begun.ok()) journal->Discard();
    return written;
  }
  const Rings& rings = Inside::Of(owner).rings();
  KeySet set;
  set.key_id = owner.key_id();
  DescribeParameters(rings, &set);
  if (rings.thin()) {
    set.enrolment_keys = paths.enrolment;
    set.enrolment_keys_bytes = enrolment.size();
  }
  if (passphrase != nullptr) set.secret_key = paths.secret;
  set.trust = paths.trust;
  set.encryption_key = paths.encryption;
  set.evaluation_keys = paths.evaluation;
  set.encryption_key_bytes = encryption.size();
  set.evaluation_keys_bytes = evaluation.size();
  return set;
}

// Hands the counts to the new key and revokes the old one. `committed`: whether the revocation is
// on disk, which a failed flush leaves possible.
absl::Status Revoke(QueryJournal& journal, const std::string& path, const SecretKeys& next,
                    bool* committed) {
  HEFT_ASSIGN_OR_RETURN(JournalKeys keys, JournalKeys::Derive(next));
  const absl::Status passed = journal.PassOn(path, std::move(keys));
  const auto status = journal.Read();
  *committed = !status.ok() || status->ledger.successor == next.key_id();
  return passed;
}

// JournalOf: of a key set that is being made.
absl::StatusOr<std::unique_ptr<QueryJournal>> JournalOf(const KeyOwner& owner, const Paths& paths) {
  HEFT_ASSIGN_OR_RETURN(JournalKeys keys, JournalKeys::Derive(Inside::Of(owner).keys()));
  return QueryJournal::OnDisk(paths.journal, std::move(keys));
}

// The canaries stay in the galleries that move: sealed under the new key.
absl::Status HandCanariesOn(const KeyOwner& old, const KeyOwner& next, const Paths& paths) {
  const std::optional<Canaries>& canaries = Inside::Of(old).canaries();
  if (!canaries) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const auto file,
                        canaries->Seal(Inside::Of(next).model(), Inside::Of(next).held(),
                                       Inside::Of(next).CeremonyOrNull()));
  return WriteFileAtomic(paths.secret + kCanarySuffix, file, 0600);
}

// The trust of an owner whose key is renewed, without that owner itself.
absl::StatusOr<Trust> WithoutOwner(const KeyOwner& old) {
  if (!Inside::Of(old).trust()) return Trust();
  Trust trust = *Inside::Of(old).trust();
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, old.Signer());
  const absl::Status revoked = trust.Revoke(signer.public_key());
  if (!revoked.ok() && !absl::IsNotFound(revoked)) return revoked;
  return trust;
}

}  // namespace

Json KeySetJson(const KeySet& set) {
  Json json = {{"key_id", HexString(set.key_id)},
               {"parameters", set.parameters},
               {"security", set.security},
               {"encryption_key", set.encryption_key},
               {"encryption_key_bytes", set.encryption_key_bytes},
               {"evaluation_keys", set.evaluation_keys},
               {"evaluation_keys_bytes", set.evaluation_keys_bytes},
               {"trust", set.trust}};
  if (!set.enrolment_keys.empty()) {
    json["enrolment_keys"] = set.enrolment_keys;
    json["enrolment_keys_bytes"] = set.enrolment_keys_bytes;
  }
  if (!set.secret_key.empty()) json["secret_key"] = set.secret_key;
  if (!set.rekeying_key.empty()) {
    json["rekeying_key"] = set.rekeying_key;
    json["rekeying_key_bytes"] = set.rekeying_key_bytes;
  }
  return json;
}

absl::StatusOr<KeySet> MakeKeySet(const Model& model, const std::string& folder,
                                  const PassphraseSource& passphrase, const Monitor& monitor) {
  const Paths paths(folder);
  HEFT_RETURN_IF_ERROR(paths.CheckVacant());
  Wiped sealed;
  HEFT_RETURN_IF_ERROR(AskPassphrase(passphrase, &sealed));
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, KeyOwner::Generate(model));
  HEFT_ASSIGN_OR_RETURN(const auto journal, JournalOf(owner, paths));
  return Write(owner, paths, &sealed, monitor, journal.get());
}

absl::StatusOr<KeySet> MakePublicKeys(const KeyOwner& owner, const std::string& folder,
                                      const Monitor& monitor) {
  const Paths paths(folder);
  if (FileExists(paths.secret)) HEFT_RETURN_IF_ERROR(paths.CheckVacant());
  return Write(owner, paths, nullptr, monitor, nullptr);
}

absl::StatusOr<KeySet> RenewKey(const KeyOwner& old, const std::string& folder,
                                const PassphraseSource& passphrase, const Monitor& monitor) {
  const Paths paths(folder);
  HEFT_RETURN_IF_ERROR(paths.CheckVacant());
  for (const std::string& path : {paths.rekeying, paths.journal}) {
    if (FileExists(path)) {
      return absl::AlreadyExistsError(absl::StrCat(path, " exists: choose another folder"));
    }
  }
  HEFT_RETURN_IF_ERROR(Inside::Of(old).RequireSecretKey("be renewed alone, with a rekeying key"));
  QueryJournal& journal = Inside::Of(old).journal();
  HEFT_RETURN_IF_ERROR(journal.CheckInUse());
  Wiped sealed;
  HEFT_RETURN_IF_ERROR(AskPassphrase(passphrase, &sealed));
  HEFT_ASSIGN_OR_RETURN(const KeyOwner next, KeyOwner::Generate(Inside::Of(old).model()));
  const ckks::Context& context = *Inside::Of(old).instance().context;
  Csprng rng;
  std::vector<uint8_t> bytes = SerializeRekeyingKey(
      context, old.key_id(), next.key_id(),
      ckks::MakeRekeyingKey(context, Inside::Of(old).key(), Inside::Of(next).key(),
                            MatchLimbs(context.params()), rng));
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, next.Signer());
  HEFT_ASSIGN_OR_RETURN(bytes, Signed(signer, bytes));
  HEFT_ASSIGN_OR_RETURN(const Trust trust, WithoutOwner(old));
  HEFT_ASSIGN_OR_RETURN(KeySet set, Write(next, paths, &sealed, monitor, nullptr, trust));
  bool committed = false;
  absl::Status finished = WriteFileAtomic(paths.rekeying, bytes);
  if (finished.ok()) finished = HandCanariesOn(old, next, paths);
  if (finished.ok()) finished = Revoke(journal, paths.journal, Inside::Of(next).keys(), &committed);
  if (!finished.ok() && !committed) {  // the old key is still the one in use
    paths.Remove();
    unlink(paths.rekeying.c_str());
    unlink((paths.secret + kCanarySuffix).c_str());
    if (const auto heir = JournalOf(next, paths); heir.ok()) (*heir)->Discard();
  }
  HEFT_RETURN_IF_ERROR(finished);
  set.rekeying_key = paths.rekeying;
  set.rekeying_key_bytes = bytes.size();
  return set;
}

}  // namespace heft
