// SPDX-License-Identifier: Apache-2.0
#include "experiment/two_keys.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiment/encrypted_scores.h"
#include "fusion/block_internal.h"
#include "fusion/rekey.h"

namespace heft::experiment {

using ckks::Ciphertext;

absl::StatusOr<UnderKey> EnrolUnderKey(const Monitor& monitor, const Model& model,
                                       const std::vector<Vectors>& samples) {
  UnderKey out;
  {
    const Progress progress(monitor, "making evaluation keys");
    HEFT_ASSIGN_OR_RETURN(out.roles, Roles::Create(model, progress.Callback()));
  }
  const Roles& roles = *out.roles;
  if (samples.empty() || samples.size() > roles.TemplatesPerBlock()) {
    return absl::InvalidArgumentError(
        absl::StrCat(samples.size(), " samples; a block holds ", roles.TemplatesPerBlock()));
  }
  out.sent.resize(samples.size());
  out.templates.resize(samples.size());
  const Progress progress(monitor, "enrolling under a key");
  HEFT_RETURN_IF_ERROR(ForAll(progress, samples.size(), [&](size_t i) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(std::vector<Ciphertext> sample, roles.EncryptSample(samples[i]));
    HEFT_ASSIGN_OR_RETURN(out.templates[i], roles.FuseTemplate(Pointers(sample)));
    out.sent[i] = std::move(sample[0]);
    return absl::OkStatus();
  }));
  out.block = EmptyBlock(roles.context(), model.gamma);
  std::vector<NewTemplate> batch;
  for (size_t i = 0; i < samples.size(); ++i) {
    batch.push_back(
        {&out.templates[i], PositionOf(static_cast<uint32_t>(i), roles.params().slots())});
  }
  HEFT_RETURN_IF_ERROR(roles.Enrol(&out.block, batch));
  return out;
}

FeatureMatrix Opened(const Roles& by, const std::vector<Ciphertext>& templates) {
  const uint32_t gamma = by.model().gamma;
  FeatureMatrix out = FeatureMatrix::Zero(static_cast<Eigen::Index>(templates.size()), gamma);
  for (size_t i = 0; i < templates.size(); ++i) {
    const std::vector<ckks::Complex> slots = by.Open(templates[i]);
    for (size_t t = 0; t < slots.size(); ++t) {
      out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(t % gamma)) +=
          slots[t].real() * gamma / static_cast<double>(slots.size());
    }
  }
  return out;
}

absl::StatusOr<std::vector<Ciphertext>> Encoded(const Roles& roles, const FeatureMatrix& templates,
                                                const Ciphertext& like) {
  std::vector<Ciphertext> out;
  std::vector<double> slots(roles.params().slots());
  for (Eigen::Index i = 0; i < templates.rows(); ++i) {
    for (size_t t = 0; t < slots.size(); ++t) {
      slots[t] = templates(i, static_cast<Eigen::Index>(t % roles.model().gamma));
    }
    HEFT_ASSIGN_OR_RETURN(
        const ckks::Plaintext plain,
        roles.encoder().Encode(std::span<const double>(slots), like.scale, like.limbs()));
    Ciphertext& one = out.emplace_back();
    one.parts.push_back(plain.poly);
    one.scale = like.scale;
  }
  return out;
}

std::vector<Ciphertext> BlockCiphertexts(const Roles& roles, const TiledCiphertexts& block) {
  std::vector<Ciphertext> out;
  for (uint32_t k = 0; k < roles.model().gamma; ++k) {
    Ciphertext& c = out.emplace_back();
    c.parts = internal::LoadTiled(roles.context(), roles.model().gamma, k, block);
    c.scale = roles.instance().plan.matching.block_scale;
    c.noise = {1, 1};  // a block carries none
  }
  return out;
}

absl::StatusOr<TiledCiphertexts> Rekeyed(const Roles& from, const Roles& to,
                                         const TiledCiphertexts& block) {
  const ckks::Context& context = from.context();
  Csprng rng;
  const ckks::SwitchKey key(
      context,
      ckks::MakeRekeyingKey(context, from.secret(), to.secret(), MatchLimbs(context.params()), rng),
      1);
  TiledCiphertexts out = block;
  HEFT_RETURN_IF_ERROR(RekeyBlock(from.instance(), &out, key));
  return out;
}

absl::StatusOr<FeatureMatrix> BlockScores(const Monitor& monitor, const Roles& roles,
                                          const std::vector<Vectors>& probes,
                                          const TiledCiphertexts& block, size_t templates) {
  FeatureMatrix out(static_cast<Eigen::Index>(probes.size()), static_cast<Eigen::Index>(templates));
  const Progress progress(monitor, "matching");
  HEFT_RETURN_IF_ERROR(ForAll(progress, probes.size(), [&](size_t i) -> absl::Status {
    Ciphertext z;
    std::optional<Ciphertext> norm;
    if (roles.rings().thin()) {
      HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> sample, roles.EncryptProbe(probes[i]));
      HEFT_ASSIGN_OR_RETURN(ProvenProbe fused, roles.prober().Fuse(Pointers(sample)));
      z = std::move(fused.z);
      norm = std::move(fused.norm);
    } else {
      HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> sample, roles.EncryptSample(probes[i]));
      HEFT_ASSIGN_OR_RETURN(z, roles.FuseTemplate(Pointers(sample)));
    }
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts prepared,
                          PrepareProbe(roles.instance(), z, roles.keys()));
    HEFT_ASSIGN_OR_RETURN(const Ciphertext matched,
                          MatchBlock(roles.instance(), block, prepared, roles.keys()));
    HEFT_ASSIGN_OR_RETURN(const Ciphertext sent, roles.Sent(matched));
    const std::vector<double> opened = roles.OpenScores(sent, norm ? &*norm : nullptr);
    for (size_t j = 0; j < templates; ++j) {
      out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = opened[j];
    }
    return absl::OkStatus();
  }));
  return out;
}

}  // namespace heft::experiment
