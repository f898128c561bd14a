// SPDX-License-Identifier: Apache-2.0
#include "heft/seal_key_owner.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/passphrase.h"
#include "base/progress.h"
#include "base/secure.h"
#include "exchange/ring_choice.h"
#include "fusion/owner/keygen.h"
#include "fusion/owner/secret_key_file.h"
#include "owner/key_owner_impl.h"
#include "seal/owner/secret_key.h"

namespace heft {
namespace {

absl::Status RefuseExisting(const std::string& path) {
  if (!FileExists(path)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(path, " exists: keys are never overwritten"));
}

// The secret key of one ring.
absl::StatusOr<ckks::SecretKey> ReadSecretKey(const Rings& rings, SealRing ring,
                                              const KeyId& key_id, const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(path, 1 << 26));
  HEFT_RETURN_IF_ERROR(file.permissions);
  auto key = seal::ReadSecretKey(*InstanceOf(rings, ring).context, key_id, file.bytes.span(), path);
  HEFT_RETURN_IF_ERROR(Needing(rings, ring, key.status()));
  return key;
}

absl::StatusOr<SecretKeys> ReadSecretKeys(const Rings& rings, const KeyId& key_id,
                                          const std::string& matching_in,
                                          const std::string& enrolment_in) {
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey matching,
                        ReadSecretKey(rings, SealRing::kMatching, key_id, matching_in));
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey enrolment,
                        ReadSecretKey(rings, SealRing::kEnrolment, key_id, enrolment_in));
  return SecretKeys(std::move(enrolment), std::move(matching));
}

// A key that is new here begins its journal. One that has been here before has one, under whatever
// name its file lay: then `out` has none, and opens nothing until it is told so (heft budget).
absl::Status StartJournal(const SecretKeys& secret, const std::string& out) {
  HEFT_ASSIGN_OR_RETURN(JournalKeys keys, JournalKeys::Derive(secret));
  const auto journal = QueryJournal::OnDisk(out + kJournalSuffix, std::move(keys));
  const absl::Status begun = journal->Start("imported from SEAL");
  return absl::IsAlreadyExists(begun) ? absl::OkStatus() : begun;
}

}  // namespace

absl::Status ImportSealSecretKey(const Model& model, const KeyId& key_id, const std::string& in,
                                 const std::string& out, const PassphraseSource& passphrase,
                                 const Monitor& monitor, const std::string& enrolment_in) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, ExchangeRings(model));
  HEFT_RETURN_IF_ERROR(CheckRingFiles(!enrolment_in.empty(), "secret key"));
  HEFT_RETURN_IF_ERROR(RefuseExisting(out));
  HEFT_ASSIGN_OR_RETURN(const SecretKeys secret, ReadSecretKeys(rings, key_id, in, enrolment_in));
  Wiped sealed;
  HEFT_RETURN_IF_ERROR(AskPassphrase(passphrase, &sealed));
  auto bytes = SerializeSecretKeys(rings, secret, sealed.text);
  HEFT_RETURN_IF_ERROR(bytes.status());
  absl::Status written = Stopped(monitor) ? absl::CancelledError("interrupted") : absl::OkStatus();
  if (written.ok()) written = StartJournal(secret, out);
  if (written.ok()) written = WriteFileAtomic(out, *bytes, 0600);
  SecureWipe(bytes->data(), bytes->size());
  return written;
}

absl::Status ExportSealSecretKey(const KeyOwner& owner, const std::string& out,
                                 const Monitor& monitor, SealRing ring) {
  HEFT_RETURN_IF_ERROR(RefuseExisting(out));
  const KeyOwner::Impl& impl = Inside::Of(owner);
  HEFT_RETURN_IF_ERROR(CheckExchangeable(impl.model()));
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        seal::WriteSecretKey(*InstanceOf(impl.rings(), ring).context,
                                             ring == SealRing::kMatching ? impl.keys().matching()
                                                                         : impl.keys().enrolment));
  HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
  return WriteFileAtomic(out, bytes.span(), 0600);
}

absl::StatusOr<SealEvaluationKeys> ExportSealEvaluationKeys(const KeyOwner& owner,
                                                            SealCompression compression,
                                                            const Monitor& monitor) {
  HEFT_RETURN_IF_ERROR(CheckExchangeable(Inside::Of(owner).model()));
  const Instance& instance = Inside::Of(owner).instance();
  const ckks::Context& context = *instance.context;
  const ckks::SecretKey& secret = Inside::Of(owner).key();
  Csprng rng;
  std::map<uint32_t, seal::KeyDigits> galois;
  const Progress progress(monitor, "making Galois keys");
  for (const auto& [element, limbs] : instance.plan.keys.galois_keys) {
    HEFT_RETURN_IF_ERROR(progress.Step(galois.size(), instance.plan.keys.galois_keys.size()));
    galois[element] = seal::MakeSeededGaloisKey(context, secret, element, rng);
  }
  const auto inner = static_cast<seal::Compression>(compression);
  SealEvaluationKeys out;
  out.relinearisation = seal::WriteRelinearisationKey(
      context, seal::MakeSeededRelinearisationKey(context, secret, rng), inner);
  out.galois = seal::WriteGaloisKeys(context, galois, inner);
  out.galois_keys = galois.size();
  return out;
}

}  // namespace heft
