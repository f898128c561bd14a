// SPDX-License-Identifier: Apache-2.0
#include "bench/world.h"

#include <algorithm>
#include <ctime>

#include "base/threads.h"
#include "ckks/encryptor.h"
#include "fusion/bulk.h"
#include "fusion/compact.h"
#include "fusion/testing.h"

namespace heft::bench {

namespace {

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(q * values.size()))];
}

}  // namespace

double Timings::Median() const { return Quantile(wall_, 0.5); }

Json Timings::Spread() const {
  return {{"median", Median()},
          {"p10", Quantile(wall_, 0.1)},
          {"p90", Quantile(wall_, 0.9)},
          {"cpu_median", Quantile(cpu_, 0.5)},
          {"runs", wall_.size()}};
}

double ThreadCpuMs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

absl::Status World::SetUp(const BenchOptions& options) {
  model = testing::RandomModel(options.dimensions, options.gamma, options.degree);
  HEFT_ASSIGN_OR_RETURN(instance, MakeInstance(model));
  const ckks::Context& context = *instance.context;
  HEFT_ASSIGN_OR_RETURN(secret, ckks::SecretKey::Generate(context, rng));
  public_key = ckks::MakePublicKey(context, *secret, rng);
  keys = testing::MakeKeys(context, instance.plan, *secret, rng);
  HEFT_ASSIGN_OR_RETURN(fuser, Fuser::Create(instance, model, &keys));
  HEFT_ASSIGN_OR_RETURN(prober, ProbeFuser::Create(instance, model, keys));
  return absl::OkStatus();
}

std::vector<std::vector<double>> World::Sample() {
  std::vector<std::vector<double>> sample;
  for (const ModalitySpec& m : model.modalities) {
    sample.push_back(testing::RandomUnit(m.dimension, random));
  }
  return sample;
}

absl::StatusOr<std::vector<ckks::Ciphertext>> World::EncryptSample(
    const std::vector<std::vector<double>>& sample) {
  std::vector<ckks::Ciphertext> out;
  for (size_t i = 0; i < sample.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(const auto plain, EncodeCompact(instance, model, i, sample[i]));
    out.push_back(ckks::Encrypt(*instance.context, plain, public_key, rng));
  }
  return out;
}

absl::StatusOr<std::vector<std::vector<ckks::Ciphertext>>> World::EncryptBulk(
    const std::function<bool(std::string_view)>& stage) {
  std::vector<std::vector<ckks::Ciphertext>> columns(model.modalities.size());
  for (size_t m = 0; m < columns.size(); ++m) {
    if (!stage("encrypting a bulk batch")) return absl::CancelledError("interrupted");
    std::vector<std::vector<double>> rows;
    for (size_t i = 0; i < instance.params().slots(); ++i) {
      rows.push_back(testing::RandomUnit(model.modalities[m].dimension, random));
    }
    HEFT_ASSIGN_OR_RETURN(const SimdColumns simd, SimdColumns::Create(instance, model, m, rows));
    columns[m].resize(model.modalities[m].dimension);
    std::vector<absl::Status> statuses(columns[m].size());
    ParallelFor(columns[m].size(), [&](size_t d) {
      Csprng own;
      auto plain = simd.Encode(instance, d);
      statuses[d] = plain.status();
      if (plain.ok()) columns[m][d] = ckks::Encrypt(*instance.context, *plain, public_key, own);
    });
    for (const absl::Status& status : statuses) HEFT_RETURN_IF_ERROR(status);
  }
  return columns;
}

absl::Status World::EnrolBulk(const std::vector<std::vector<ckks::Ciphertext>>& columns) const {
  // A fuser holds the sums of one batch.
  HEFT_ASSIGN_OR_RETURN(BulkFuser bulk, BulkFuser::Create(instance, model, &keys));
  for (size_t m = 0; m < columns.size(); ++m) {
    HEFT_RETURN_IF_ERROR(bulk.Add(m, 0, columns[m]));
  }
  const uint32_t count = instance.params().slots();
  HEFT_ASSIGN_OR_RETURN(const TemplateBatch batch, bulk.Finish(count));
  TiledCiphertexts block = EmptyBlock(*instance.context, model.gamma);
  return AddBatchToBlock(instance, &block, batch, 0, count, 0);
}

std::vector<const ckks::Ciphertext*> Pointers(const std::vector<ckks::Ciphertext>& v) {
  std::vector<const ckks::Ciphertext*> out;
  for (const ckks::Ciphertext& c : v) out.push_back(&c);
  return out;
}

absl::StatusOr<std::vector<TiledCiphertexts>> RandomGallery(
    const Instance& instance, size_t templates,
    const std::function<bool(std::string_view)>& stage) {
  const ckks::Context& context = *instance.context;
  const size_t per_block = 2 * size_t{instance.params().slots()};
  std::vector<TiledCiphertexts> gallery((templates + per_block - 1) / per_block);
  for (size_t b = 0; b < gallery.size(); ++b) {
    if (!stage("filling a large gallery")) return absl::CancelledError("interrupted");
    gallery[b].resize(TiledSize(context, instance.plan.gamma));
    const size_t per_limb = gallery[b].size() / kMatchLimbs;
    for (size_t l = 0; l < kMatchLimbs; ++l) {
      const uint32_t q = context.modulus(l).value();
      uint32_t x = static_cast<uint32_t>(b * kMatchLimbs + l + 1);
      for (size_t i = 0; i < per_limb; ++i) {
        x = x * 1664525u + 1013904223u;
        gallery[b][l * per_limb + i] = static_cast<uint32_t>((uint64_t{x} * q) >> 32);
      }
    }
  }
  return gallery;
}

}  // namespace heft::bench
