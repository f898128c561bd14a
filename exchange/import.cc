// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/csprng.h"
#include "base/identity.h"
#include "base/progress.h"
#include "exchange/ring_choice.h"
#include "fusion/fuser.h"
#include "fusion/key_files.h"
#include "fusion/samples.h"
#include "heft/seal.h"
#include "seal/keys.h"
#include "seal/objects.h"

namespace heft {
namespace {

// kFailedPrecondition if `keys` lack one that the plan needs.
absl::Status CheckRotations(const Instance& instance,
                            const std::map<uint32_t, ckks::FullSwitchKey>& keys,
                            const std::string& path) {
  const ckks::Params& params = instance.params();
  std::map<uint32_t, size_t> missing;
  for (const auto& [element, limbs] : instance.plan.keys.galois_keys) {
    if (keys.count(element) == 0 && !IsRotationAndConjugation(params, element)) {
      missing[element] = limbs;
    }
  }
  if (missing.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  if (missing.count(ckks::ConjugationElement(params)) != 0) names.push_back("conjugation (0)");
  for (uint32_t step : seal::RotationSteps(params, missing)) names.push_back(absl::StrCat(step));
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": lacks the Galois keys of these steps, which the model needs: ",
                   absl::StrJoin(names, ", "), " (heft-seal export parameters lists all)"));
}

// One label per sample.
absl::StatusOr<std::vector<std::string>> LabelsOf(std::span<const std::string> given,
                                                  size_t samples) {
  std::vector<std::string> labels;
  for (const std::string& label : given) {
    HEFT_ASSIGN_OR_RETURN(labels.emplace_back(), NormalIdentity(label));
  }
  if (labels.size() <= 1) labels.resize(samples, labels.empty() ? "" : labels[0]);
  if (labels.size() != samples) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels.size(), " labels for ", samples, " samples"));
  }
  return labels;
}

// A public key of one ring.
absl::StatusOr<ckks::PublicKey> ReadPublicKey(const Rings& rings, SealRing ring,
                                              const KeyId& key_id, std::span<const uint8_t> key,
                                              std::string_view what) {
  const auto part = seal::ReadPublicKey(*InstanceOf(rings, ring).context, key, what);
  HEFT_RETURN_IF_ERROR(Needing(rings, ring, part.status()));
  return seal::ToPublicKey(key_id, *part);
}

// Adds to an error about missing evaluation keys where those of the other ring come from.
absl::Status NeedingMatching(const Rings& rings, const absl::Status& status) {
  if (status.ok() || absl::IsCancelled(status)) return status;
  const absl::Status needing = Needing(rings, SealRing::kMatching, status);
  return absl::Status(needing.code(),
                      absl::StrCat(std::string(needing.message()),
                                   "; SEAL cannot make enrolment keys, because they contain a ring "
                                   "switch: make them with heft keygen --secret-key"));
}

// The ring that a ciphertext was made in: SEAL's files name their parameters by a hash.
absl::StatusOr<SealRing> RingOfCiphertext(const Rings& rings, const SampleFile& file) {
  // The larger one first: its bound on sizes suits both.
  for (SealRing ring : {SealRing::kEnrolment, SealRing::kMatching}) {
    const ckks::Context& context = *InstanceOf(rings, ring).context;
    const absl::Status read = seal::ReadCiphertext(context, file.bytes, file.name).status();
    if (!absl::IsFailedPrecondition(read)) {
      HEFT_RETURN_IF_ERROR(read);
      return ring;
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat(file.name,
                   ": made with other SEAL parameters than those of the model's two "
                   "rings (heft-seal export parameters --ring matching, --ring enrolment)"));
}

}  // namespace

KeyId NewKeyId() {
  KeyId id{};
  Csprng().Fill(id);
  return id;
}

absl::StatusOr<std::vector<uint8_t>> ImportSealEncryptionKey(const Model& model,
                                                             const KeyId& key_id,
                                                             std::span<const uint8_t> key,
                                                             std::string_view what,
                                                             const SealFile& enrolment) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, ExchangeRings(model));
  HEFT_RETURN_IF_ERROR(
      CheckRingFiles(!enrolment.name.empty() || !enrolment.bytes.empty(), "public key"));
  PublicKeys keys;
  HEFT_ASSIGN_OR_RETURN(keys.small, ReadPublicKey(rings, SealRing::kMatching, key_id, key, what));
  HEFT_ASSIGN_OR_RETURN(keys.enrolment, ReadPublicKey(rings, SealRing::kEnrolment, key_id,
                                                      enrolment.bytes, enrolment.name));
  return SerializeEncryptionKeys(rings, keys);
}

absl::StatusOr<ImportedEvaluationKeys> ImportSealEvaluationKeys(const Model& model,
                                                                const KeyId& key_id,
                                                                const SealFile& galois,
                                                                const SealFile& relinearisation,
                                                                const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, ExchangeRings(model));
  const Instance& instance = rings.matching;
  const ckks::Context& context = *instance.context;
  const Progress progress(monitor, "reading Galois keys");
  auto keys = seal::ReadGaloisKeys(context, galois.bytes, instance.plan.keys.galois_keys,
                                   galois.name, progress.Callback());
  HEFT_RETURN_IF_ERROR(NeedingMatching(rings, keys.status()));
  HEFT_RETURN_IF_ERROR(CheckRotations(instance, *keys, galois.name));
  ImportedEvaluationKeys out;
  out.galois_keys = keys->size();
  const auto digits =
      seal::ReadRelinearisationKey(context, relinearisation.bytes, relinearisation.name);
  HEFT_RETURN_IF_ERROR(NeedingMatching(rings, digits.status()));
  (*keys)[1] = seal::CutKey(*digits, instance.plan.keys.relinearisation_limbs);
  out.bytes = SerializeFullEvaluationKeys(context, key_id, *keys);
  return out;
}

absl::StatusOr<std::vector<uint8_t>> ImportSealSamples(const Model& model,
                                                       std::string_view modality,
                                                       const KeyId& key_id,
                                                       std::span<const SampleFile> ciphertexts,
                                                       std::span<const std::string> labels,
                                                       const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const size_t index, model.FindModality(modality));
  HEFT_ASSIGN_OR_RETURN(const auto all_labels, LabelsOf(labels, ciphertexts.size()));
  HEFT_ASSIGN_OR_RETURN(const Rings rings, ExchangeRings(model));
  if (ciphertexts.empty()) return absl::InvalidArgumentError("no ciphertexts given");
  HEFT_ASSIGN_OR_RETURN(const SealRing ring, RingOfCiphertext(rings, ciphertexts[0]));
  const Instance& instance = InstanceOf(rings, ring);
  SampleWriter writer(*instance.context, MakeSampleHeader(instance, model, index, key_id, false),
                      all_labels);
  const Progress progress(monitor, "reading ciphertexts");
  for (size_t i = 0; i < ciphertexts.size(); ++i) {
    const SampleFile& file = ciphertexts[i];
    const auto ciphertext = seal::ReadCiphertext(*instance.context, file.bytes, file.name);
    HEFT_RETURN_IF_ERROR(Needing(rings, ring, ciphertext.status()));
    const absl::Status form = CheckInput(instance.plan, *ciphertext, modality);
    if (!form.ok()) {
      return absl::Status(form.code(), absl::StrCat(file.name, ": ", std::string(form.message())));
    }
    writer.Add(*ciphertext);
    HEFT_RETURN_IF_ERROR(progress.Step(i + 1, ciphertexts.size()));
  }
  return writer.Finish();
}

}  // namespace heft
