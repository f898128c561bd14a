// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "bench/peer_seal/route.h"
#include "experiment/roles.h"

namespace heft::bench {
namespace {

using ckks::Ciphertext;
using experiment::Roles;

class HeftRoute : public Route {
 public:
  explicit HeftRoute(std::unique_ptr<Roles> roles) : roles_(std::move(roles)) {}
  absl::Status Prepare(const Workload& workload);
  void Fuse() override;
  void Match() override;
  double WorstError() const override;

 private:
  absl::Status FillBlock(const Workload& workload);

  std::unique_ptr<Roles> roles_;
  std::vector<Ciphertext> modalities_;
  TiledCiphertexts block_;
  std::vector<double> expected_;
  ProvenProbe probe_;
  Ciphertext scores_;
};

absl::Status HeftRoute::Prepare(const Workload& workload) {
  const experiment::Vectors sample = {workload.first, workload.second};
  HEFT_ASSIGN_OR_RETURN(modalities_, roles_->EncryptProbe(sample));
  std::vector<double> z = experiment::FusePlain(roles_->model(), sample);
  if (roles_->rings().thin()) {  // the key owner normalises, exactly
    const double length = std::sqrt(experiment::Dot(z, z));
    for (double& v : z) v /= length;
  }
  for (const auto& t : workload.gallery) expected_.push_back(experiment::Dot(z, t));
  return FillBlock(workload);
}

// Templates as fusion leaves them, encrypted directly; masks and rotations as in enrolment.
absl::Status HeftRoute::FillBlock(const Workload& workload) {
  const uint32_t slots = roles_->params().slots();
  const FusionPlan& plan = roles_->instance().plan;
  block_ = EmptyBlock(roles_->context(), plan.gamma);
  std::vector<Ciphertext> encrypted(workload.gallery.size());
  std::vector<NewTemplate> added;
  for (size_t i = 0; i < encrypted.size(); ++i) {
    std::vector<double> values(slots);
    for (uint32_t t = 0; t < slots; ++t) values[t] = workload.gallery[i][t % workload.gamma];
    HEFT_ASSIGN_OR_RETURN(
        const auto plain,
        roles_->encoder().Encode(std::span<const double>(values), plan.matching.template_scale,
                                 TemplateLimbs(roles_->params())));
    encrypted[i] = roles_->Encrypt(plain);
    added.push_back({&encrypted[i], PositionOf(static_cast<uint32_t>(i), slots)});
  }
  return roles_->Enrol(&block_, added);
}

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << value.status() << "\n";
  std::exit(1);
}

void HeftRoute::Fuse() {
  const Ciphertext* const pointers[] = {&modalities_[0], &modalities_[1]};
  probe_ = OrDie(roles_->prober().Fuse(pointers));
}

void HeftRoute::Match() { scores_ = OrDie(roles_->Match(block_, probe_.z)); }

double HeftRoute::WorstError() const {
  const bool thin = roles_->rings().thin();
  const std::vector<double> opened = roles_->OpenScores(scores_, thin ? &probe_.norm : nullptr);
  double worst = 0;
  for (size_t i = 0; i < expected_.size(); ++i) {
    worst = std::max(worst, std::abs(opened[i] - expected_[i]));
  }
  return worst;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Route>> MakeHeftRoute(const Workload& workload, const Model& model) {
  HEFT_ASSIGN_OR_RETURN(std::unique_ptr<Roles> roles, Roles::Create(model));
  auto route = std::make_unique<HeftRoute>(std::move(roles));
  HEFT_RETURN_IF_ERROR(route->Prepare(workload));
  return route;
}

}  // namespace heft::bench
