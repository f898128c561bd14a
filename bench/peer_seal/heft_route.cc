// SPDX-License-Identifier: Apache-2.0
#include "bench/peer_seal/heft_route.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "ckks/encryptor.h"
#include "fusion/compact.h"
#include "fusion/probe.h"
#include "fusion/matching.h"
#include "fusion/testing.h"

namespace heft::bench {
namespace {

using ckks::Ciphertext;

class HeftRoute : public Route {
 public:
  HeftRoute(Instance instance, ckks::SecretKey secret)
      : instance_(std::move(instance)), secret_(std::move(secret)) {}
  absl::Status Prepare(const Workload& workload, const Model& model);
  void Fuse() override;
  void Match() override;
  double WorstError() const override;

 private:
  absl::Status FillBlock(const Workload& workload);
  Ciphertext Encrypt(const ckks::Plaintext& plain) {
    return ckks::Expand(*instance_.context,
                        ckks::EncryptSymmetric(*instance_.context, plain, secret_, rng_));
  }

  Csprng rng_;
  Instance instance_;
  ckks::SecretKey secret_;
  ckks::EvaluationKeys keys_;
  std::unique_ptr<ProbeFuser> prober_;
  std::vector<Ciphertext> modalities_;
  TiledCiphertexts block_;
  std::vector<double> expected_;
  Ciphertext probe_, scores_;
};

absl::Status HeftRoute::Prepare(const Workload& workload, const Model& model) {
  keys_ = testing::MakeKeys(*instance_.context, instance_.plan, secret_, rng_);
  HEFT_ASSIGN_OR_RETURN(ProbeFuser prober, ProbeFuser::Create(instance_, model, keys_));
  prober_ = std::make_unique<ProbeFuser>(std::move(prober));
  const std::vector<std::vector<double>> sample = {workload.first, workload.second};
  for (size_t i = 0; i < sample.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(const auto plain, EncodeCompact(instance_, model, i, sample[i]));
    modalities_.push_back(Encrypt(plain));
  }
  const std::vector<double> z = testing::FusePlain(model, sample);
  for (const auto& t : workload.gallery) expected_.push_back(testing::Dot(z, t));
  return FillBlock(workload);
}

// Templates as fusion leaves them, encrypted directly; masks and rotations as in enrolment.
absl::Status HeftRoute::FillBlock(const Workload& workload) {
  const uint32_t slots = instance_.context->slots();
  block_ = EmptyBlock(*instance_.context, instance_.plan.gamma);
  std::vector<Ciphertext> encrypted(workload.gallery.size());
  std::vector<NewTemplate> added;
  for (size_t i = 0; i < encrypted.size(); ++i) {
    std::vector<double> values(slots);
    for (uint32_t t = 0; t < slots; ++t) values[t] = workload.gallery[i][t % workload.gamma];
    HEFT_ASSIGN_OR_RETURN(const auto plain,
                          instance_.encoder->Encode(std::span<const double>(values),
                                                    instance_.plan.template_scale, kTemplateLimbs));
    encrypted[i] = Encrypt(plain);
    added.push_back({&encrypted[i], PositionOf(static_cast<uint32_t>(i), slots)});
  }
  return AddToBlock(instance_, &block_, added, keys_);
}

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << value.status() << "\n";
  std::exit(1);
}

void HeftRoute::Fuse() {
  const Ciphertext* const pointers[] = {&modalities_[0], &modalities_[1]};
  probe_ = OrDie(prober_->Fuse(pointers)).z;
}

void HeftRoute::Match() {
  const TiledCiphertexts prepared =
      OrDie(PrepareProbe(prober_->instance(), probe_, prober_->keys()));
  scores_ = OrDie(MatchBlock(prober_->instance(), block_, prepared, prober_->keys()));
}

double HeftRoute::WorstError() const {
  const auto slots = instance_.encoder->Decode(ckks::Decrypt(*instance_.context, scores_, secret_));
  double worst = 0;
  for (size_t i = 0; i < expected_.size(); ++i) {
    const ckks::Complex& slot = slots[i % slots.size()];
    const double score = i < slots.size() ? slot.real() : slot.imag();
    worst = std::max(worst, std::abs(score - expected_[i]));
  }
  return worst;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Route>> MakeHeftRoute(const Workload& workload, const Model& model) {
  HEFT_ASSIGN_OR_RETURN(Instance instance, MakeInstance(model));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey secret, ckks::SecretKey::Generate(*instance.context, rng));
  auto route = std::make_unique<HeftRoute>(std::move(instance), std::move(secret));
  HEFT_RETURN_IF_ERROR(route->Prepare(workload, model));
  return route;
}

}  // namespace heft::bench
