// SPDX-License-Identifier: Apache-2.0
#include "tests/forger.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numbers>
#include <string>

#include "ckks/encryptor.h"
#include "experiment/random_model.h"
#include "fusion/norm_factor.h"
#include "fusion/norm_proof.h"
#include "fusion/projected.h"
#include "fusion/samples.h"

namespace heft::e2e {
namespace {

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << "forger: " << value.status().message() << "\n";
  std::exit(2);
}

}  // namespace

Forger::Forger(const Model& model, const std::vector<uint8_t>& encryption_key)
    : model_(model),
      rings_(Must(MakeRings(model))),
      keys_(Must(ParseEncryptionKeys(rings_, encryption_key, "the encryption key"))) {}

std::vector<uint8_t> Forger::Fused(SampleUse use, size_t count,
                                   const std::function<Slots()>& make) const {
  const Instance& ring = rings_.matching;
  const SampleHeader header =
      MakeSampleHeader(ring, model_, 0, key_id(), false, {SampleEncoding::kFused, use});
  SampleWriter writer(*ring.context, header, std::vector<std::string>(count));
  Csprng rng;
  for (size_t i = 0; i < count; ++i) {
    const Slots values = make();
    Slots slots(ring.params().slots());
    for (size_t j = 0; j < slots.size(); ++j) slots[j] = values[j % values.size()];
    const auto plain = Must(ring.encoder->Encode(std::span<const ckks::Complex>(slots),
                                                 ProjectedScale(ring, use), ring.params().limbs()));
    writer.Add(ckks::Encrypt(*ring.context, plain, keys_.matching(), rng));
  }
  return writer.Finish();
}

std::vector<double> Forger::Direction() { return experiment::RandomUnit(model_.gamma, random_); }

Forger::Slots Forger::Scaled(std::span<const double> z, ckks::Complex factor) {
  Slots slots;
  for (const double v : z) slots.push_back(factor * v);
  return slots;
}

Forger::Slots Forger::Wrapped() {
  constexpr double kRoot2 = std::numbers::sqrt2;
  const double range = NormProofRange(rings_.matching.params(), rings_.matching.plan);
  const auto ratio = [](double sigma) { return sigma * kRoot2 / (1 - sigma * sigma); };
  // The real part wraps k times, the imaginary part m times.
  const double k = static_cast<double>(Random(2) == 0 ? 1 + Random(5) : 33 + Random(48));
  const double least = std::max(1.0, std::ceil(k * ratio(kLeastNormFactor)));
  const double most = std::max(least, std::floor(k * ratio(kLargestNormFactor)));
  const double m = least + static_cast<double>(Random(static_cast<size_t>(most - least) + 1));
  const double sigma = (-k * kRoot2 + std::sqrt(2 * k * k + 4 * m * m)) / (2 * m);
  const double read = 1 + 2 * static_cast<double>(Random(1000)) / 1000;
  return Scaled(Direction(), std::sqrt(read + k * range / (1 - sigma * sigma)));
}

}  // namespace heft::e2e
