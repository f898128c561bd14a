// SPDX-License-Identifier: Apache-2.0
// For tests: all roles by their public classes.
#ifndef HEFT_OWNER_ROLES_TESTING_H_
#define HEFT_OWNER_ROLES_TESTING_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/inside.h"
#include "base/testing.h"
#include "fusion/testing.h"
#include "heft/client.h"
#include "heft/server.h"
#include "owner/activate_all.h"
#include "owner/allow_scores.h"
#include "owner/key_owner_impl.h"

namespace heft::testing {

// PublicRoles: keys, client and server of a random model of two modalities.
struct PublicRoles {
  explicit PublicRoles(const std::string& profile)
      : model(RandomModel({40, 24}, 16, 3, profile)),
        owner(*KeyOwner::Generate(model)),
        client(*Client::Create(model, owner.EncryptionKey())),
        server(*Server::Create(model, *owner.EvaluationKeys(), "keys", *owner.EnrolmentKeys(),
                               "keys")) {}
  // Made once a profile and process: keys take most of a test's time.
  static const PublicRoles& Of(const std::string& profile) {
    static auto* all = new std::map<std::string, std::unique_ptr<PublicRoles>>;
    std::unique_ptr<PublicRoles>& roles = (*all)[profile];
    if (roles == nullptr) roles = std::make_unique<PublicRoles>(profile);
    return *roles;
  }
  // The same key with a journal of its own, in memory.
  KeyOwner NewOwner(const std::optional<BudgetLimits>& limits = kTwoScores) const {
    const SecretKeys& keys = Inside::Of(owner).keys();
    const Rings& rings = Inside::Of(owner).rings();
    auto copy = [&](const Instance& ring, const ckks::SecretKey& key) {
      return *ckks::SecretKey::FromCoefficients(*ring.context, keys.key_id(), key.coefficients());
    };
    auto journal = *QueryJournal::InMemory(limits);
    auto enrolment = copy(rings.enrolment, keys.enrolment);
    return *KeyOwner::Impl::Own(model,
                                SecretKeys(std::move(enrolment), copy(rings.matching, *keys.small)),
                                std::move(journal));
  }

  const Model model;
  const KeyOwner owner;
  const Client client;
  const Server server;
};

// RolesTest: for tests of all profiles. An owner and a gallery's folder of each test's own.
class RolesTest : public ::testing::TestWithParam<const char*> {
 protected:
  explicit RolesTest(const std::optional<BudgetLimits>& limits = kTwoScores)
      : roles_(PublicRoles::Of(GetParam())),
        owner_(std::make_unique<KeyOwner>(roles_.NewOwner(limits))) {}

  std::vector<float> Vector(size_t modality, uint64_t person) const {
    std::mt19937_64 random(person * 2 + modality);
    const auto unit = RandomUnit(model_.modalities[modality].dimension, random);
    return {unit.begin(), unit.end()};
  }
  // A vector a modality, encrypted.
  std::vector<SampleFile> Encrypt(const std::vector<std::vector<float>>& vectors,
                                  const std::string& label, SampleUse use) const {
    std::vector<SampleFile> files;
    for (size_t m = 0; m < vectors.size(); ++m) {
      files.push_back(
          {*client_->Encrypt(model_.modalities[m].name, vectors[m], label, use), "sample"});
    }
    return files;
  }
  std::vector<SampleFile> Files(uint64_t person, const std::string& label,
                                SampleUse use = SampleUse::kEnrolment) const {
    return Encrypt({Vector(0, person), Vector(1, person)}, label, use);
  }
  absl::StatusOr<ActivateResult> Approve(const std::string& folder) const {
    return ActivateAll(*server_, *owner_, folder);
  }

  const PublicRoles& roles_;
  const Model& model_ = roles_.model;
  const std::unique_ptr<KeyOwner> owner_;
  const Client* const client_ = &roles_.client;
  const Server* const server_ = &roles_.server;
  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_ / "gallery";
};

}  // namespace heft::testing

#endif  // HEFT_OWNER_ROLES_TESTING_H_
