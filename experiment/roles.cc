// SPDX-License-Identifier: Apache-2.0
#include "experiment/roles.h"

#include <cmath>
#include <utility>

#include "base/csprng.h"
#include "base/threads.h"
#include "ckks/encryptor.h"
#include "fusion/compact.h"
#include "fusion/key_files.h"
#include "fusion/norm_proof.h"
#include "fusion/owner/keygen.h"

namespace heft::experiment {

using ckks::Ciphertext;

KeyedContext::KeyedContext(std::shared_ptr<const ckks::Context> context,
                           std::shared_ptr<const ckks::Encoder> encoder, ckks::SecretKey secret)
    : context_(std::move(context)), encoder_(std::move(encoder)), secret_(std::move(secret)) {
  Csprng rng;
  public_key_ = ckks::MakePublicKey(*context_, secret_, rng);
}

absl::StatusOr<std::unique_ptr<KeyedContext>> KeyedContext::Create(
    const ckks::ParamsSpec& parameters) {
  HEFT_ASSIGN_OR_RETURN(const ckks::Params params, ckks::Params::Create(parameters));
  auto context = std::make_shared<const ckks::Context>(params);
  auto encoder = std::make_shared<const ckks::Encoder>(context);
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey secret, ckks::SecretKey::Generate(*context, rng));
  return std::unique_ptr<KeyedContext>(
      new KeyedContext(std::move(context), std::move(encoder), std::move(secret)));
}

void KeyedContext::MakeKeys(const KeyNeeds& needs) {
  keys_.key_id = secret_.key_id();
  if (needs.relinearisation_limbs > 0) {
    Csprng rng;
    keys_.relinearisation = ckks::SwitchKey(
        *context_,
        ckks::MakeRelinearisationKey(*context_, secret_, needs.relinearisation_limbs, rng), 1);
  }
  const std::vector<std::pair<uint32_t, size_t>> wanted(needs.galois_keys.begin(),
                                                        needs.galois_keys.end());
  std::vector<ckks::SwitchKey> made(wanted.size());
  ParallelFor(wanted.size(), [&](size_t i) {
    Csprng rng;
    const auto [element, limbs] = wanted[i];
    made[i] = ckks::SwitchKey(
        *context_, ckks::MakeGaloisKey(*context_, secret_, element, limbs, rng), element);
  });
  for (size_t i = 0; i < wanted.size(); ++i) keys_.galois[wanted[i].first] = std::move(made[i]);
}

Ciphertext KeyedContext::Encrypt(const ckks::Plaintext& plain) const {
  Csprng rng;
  return ckks::Encrypt(*context_, plain, public_key_, rng);
}

std::vector<Ciphertext> KeyedContext::Encrypt(std::span<const ckks::Plaintext> plain) const {
  std::vector<Ciphertext> encrypted;
  for (const ckks::Plaintext& p : plain) encrypted.push_back(Encrypt(p));
  return encrypted;
}

std::vector<ckks::Complex> KeyedContext::Open(const Ciphertext& ciphertext) const {
  return encoder_->Decode(ckks::Decrypt(*context_, ciphertext, secret_));
}

std::vector<const Ciphertext*> Pointers(std::span<const Ciphertext> sample) {
  std::vector<const Ciphertext*> pointers;
  for (const Ciphertext& c : sample) pointers.push_back(c.parts.empty() ? nullptr : &c);
  return pointers;
}

Roles::Roles(const Model& model, const Rings& rings, SecretKeys secrets)
    : KeyedContext(rings.matching.context, rings.matching.encoder,
                   std::move(secrets.small ? *secrets.small : secrets.enrolment)),
      model_(model),
      rings_(rings) {
  if (!rings.thin()) return;
  enrolment_ = std::make_unique<KeyedContext>(rings.enrolment.context, rings.enrolment.encoder,
                                              std::move(secrets.enrolment));
}

absl::StatusOr<std::unique_ptr<Roles>> Roles::Create(
    const Model& model, const std::function<bool(size_t, size_t)>& progress) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(model));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(SecretKeys secrets, GenerateSecretKeys(rings, rng));
  RingKeys keys;
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                        MakeEvaluationKeys(rings.matching, secrets.matching(), progress));
  HEFT_ASSIGN_OR_RETURN(keys.matching,
                        ParseEvaluationKeys(*rings.matching.context, bytes, "evaluation keys"));
  std::vector<uint8_t> enrolment;
  if (rings.thin()) {
    HEFT_ASSIGN_OR_RETURN(enrolment, MakeEnrolmentKeys(rings, secrets, progress));
    HEFT_RETURN_IF_ERROR(ParseEnrolmentKeys(rings, enrolment, "enrolment keys", &keys));
  }
  std::unique_ptr<Roles> roles(new Roles(model, rings, std::move(secrets)));
  roles->evaluation_keys_bytes_ = bytes.size();
  roles->enrolment_keys_bytes_ = enrolment.size();
  if (rings.thin()) WidenRelinearisation(rings.matching, &keys.matching);
  roles->TakeKeys(std::move(keys.matching));
  if (rings.thin()) roles->enrolment_->TakeKeys(std::move(keys.enrolment));
  roles->ring_switch_ = std::move(keys.ring_switch);
  HEFT_ASSIGN_OR_RETURN(roles->fuser_,
                        Fuser::Create(roles->rings_.enrolment, model, &roles->enrolment().keys()));
  HEFT_ASSIGN_OR_RETURN(roles->prober_, ProbeFuser::Create(roles->rings_, model, roles->keys()));
  return roles;
}

namespace {

absl::StatusOr<std::vector<Ciphertext>> EncryptIn(const Instance& ring, const KeyedContext& keys,
                                                  const Model& model, const Vectors& sample) {
  std::vector<Ciphertext> encrypted(sample.size());
  for (size_t m = 0; m < sample.size(); ++m) {
    if (sample[m].empty()) continue;
    HEFT_ASSIGN_OR_RETURN(const ckks::Plaintext plain, EncodeCompact(ring, model, m, sample[m]));
    encrypted[m] = keys.Encrypt(plain);
  }
  return encrypted;
}

}  // namespace

absl::StatusOr<std::vector<Ciphertext>> Roles::EncryptSample(const Vectors& sample) const {
  return EncryptIn(rings_.enrolment, enrolment(), model_, sample);
}

absl::StatusOr<std::vector<Ciphertext>> Roles::EncryptProbe(const Vectors& sample) const {
  return EncryptIn(rings_.matching, *this, model_, sample);
}

absl::StatusOr<Ciphertext> Roles::FuseTemplate(
    std::span<const Ciphertext* const> modalities) const {
  HEFT_ASSIGN_OR_RETURN(const Normalised fused, fuser_->Fuse(modalities));
  return ToMatchingRing(rings_, ring_switch_, fused.z);
}

absl::Status Roles::Enrol(TiledCiphertexts* block, std::span<const NewTemplate> templates) const {
  return AddToBlock(instance(), block, templates, keys_);
}

absl::StatusOr<Ciphertext> Roles::Match(const TiledCiphertexts& block,
                                        const Ciphertext& probe) const {
  HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts prepared,
                        PrepareProbe(prober_->instance(), probe, prober_->keys()));
  return MatchBlock(prober_->instance(), block, prepared, prober_->keys());
}

absl::StatusOr<Ciphertext> Roles::Sent(const Ciphertext& scores) const {
  const FusionPlan& plan = instance().plan;
  if (!plan.matching.short_replies) return scores;
  HEFT_ASSIGN_OR_RETURN(const ckks::ShortCiphertext brief,
                        ckks::Shorten(context(), scores, plan.matching.reply_form));
  return ckks::Lengthen(context(), brief);
}

std::vector<double> Roles::OpenScores(const Ciphertext& scores, const Ciphertext* norm,
                                      bool* refused) const {
  const uint32_t count = params().slots();
  std::vector<double> opened(2 * size_t{count}, kRefusedScore);
  double length = 1;
  if (norm != nullptr) {
    const absl::StatusOr<double> square = ReadNorm(Open(*norm), ProofOf::kProbe, model_.gamma);
    if (refused != nullptr) *refused = !square.ok();
    if (!square.ok()) return opened;
    length = std::sqrt(*square);
  }
  const std::vector<ckks::Complex> slots = Open(scores);
  for (uint32_t j = 0; j < count; ++j) {
    opened[j] = SlotSign(instance().plan, j, 0) * slots[j].real() / length;
    opened[count + j] = SlotSign(instance().plan, j, 1) * slots[j].imag() / length;
  }
  return opened;
}

}  // namespace heft::experiment
