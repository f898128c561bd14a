// SPDX-License-Identifier: Apache-2.0
// For tests of the golden files: functions that read them, and the roles of the first key.
#ifndef HEFT_TESTS_GOLDEN_TESTING_H_
#define HEFT_TESTS_GOLDEN_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/testing.h"
#include "fusion/compact.h"
#include "fusion/key_files.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/testing.h"
#include "matcher/enrol_directly.h"
#include "matcher/server_impl.h"
#include "owner/allow_scores.h"
#include "owner/key_owner_impl.h"
#include "tests/golden.h"

namespace heft::golden {

constexpr double kTolerance = 2e-3;

inline std::vector<uint8_t> Golden(const std::string& name) {
  auto bytes = ReadFile(testing::SourcePath("tests/golden/") + name);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return *std::move(bytes);
}

template <typename T>
T Ok(absl::StatusOr<T> value) {
  EXPECT_TRUE(value.ok()) << value.status();
  return *std::move(value);
}

class GoldenTest : public ::testing::Test {
 protected:
  GoldenTest()
      : model_(Ok(Model::Parse(Golden("model.heft"), "model.heft"))),
        instance_(Ok(MakeInstance(model_))),
        secret_(Ok(ParseSecretKey(context(), Golden("secret.key"), {}, "secret.key"))) {}

  const ckks::Context& context() const { return *instance_.context; }
  std::vector<ckks::Complex> Decrypt(const ckks::Ciphertext& ciphertext) const {
    return instance_.encoder->Decode(ckks::Decrypt(context(), ciphertext, secret_));
  }
  std::vector<double> Fused(size_t person, double* squared_norm = nullptr) const {
    std::vector<std::vector<double>> vectors;
    for (size_t m = 0; m < 2; ++m) {
      vectors.push_back(*NormalisedVector(Vector(m, person), model_.modalities[m]));
    }
    return testing::FusePlain(model_, vectors, squared_norm);
  }
  KeyOwner Owner() const { return Owner(secret_); }
  KeyOwner Owner(const ckks::SecretKey& secret) const {
    return testing::AllowScores(
        Ok(KeyOwner::Impl::Own(model_, SecretKeys(Ok(ckks::SecretKey::FromCoefficients(
                                           context(), secret.key_id(), secret.coefficients()))))));
  }
  // The server of a key.
  std::unique_ptr<Server::Impl> ServerOf(const ckks::SecretKey& secret) const {
    Csprng rng;
    return Ok(Server::Impl::Create(model_,
                                   testing::MakeKeys(context(), instance_.plan.keys, secret, rng)));
  }
  // One file of each modality with the vectors of `people`, encrypted now.
  SampleSet Samples(const ckks::SecretKey& secret, const std::vector<size_t>& people,
                    const std::vector<std::string>& labels = {}) const {
    std::vector<SampleReader> files;
    for (size_t m = 0; m < 2; ++m) {
      std::vector<std::vector<double>> rows;
      for (const size_t p : people) rows.push_back(Vector(m, p));
      files.push_back(Ok(SampleReader::Parse(
          instance_.context,
          Ok(EncryptSamplesSymmetric(instance_, model_, m, secret, rows, labels)), "samples")));
    }
    return Ok(SampleSet::Create(instance_, model_, std::move(files)));
  }
  // A gallery of the three people under the first key; its folder.
  std::string Enrolled() const {
    const std::string folder = folder_ / "enrolled";
    const absl::Status status =
        testing::EnrolDirectly(*ServerOf(secret_), folder, Samples(secret_, {0, 1, 2}, kIdentities))
            .status();
    EXPECT_TRUE(status.ok()) << status;
    return folder;
  }
  // Matches person 0 against a gallery folder under `secret`.
  void ExpectGallery(const std::string& folder, const ckks::SecretKey& secret) const {
    const auto server = ServerOf(secret);
    const Gallery::Impl gallery = Ok(server->OpenGallery(folder, /*create=*/false));
    const auto scores = Ok(server->Identify(gallery, Samples(secret, {0}), {}));
    ExpectScores(Ok(Owner(secret).Open(SerializeScores(context(), scores), "scores")),
                 {"ann", "bob"});
  }
  // Checks the best score of each identity against person 0.
  void ExpectScores(const OpenedScores& opened, const std::vector<std::string>& identities) const {
    ASSERT_EQ(opened.candidates.size(), identities.size());
    for (const Candidate& c : opened.candidates) {
      EXPECT_NE(std::find(identities.begin(), identities.end(), c.identity), identities.end());
      double best = -10;
      uint32_t templates = 0;
      for (size_t p = 0; p < kIdentities.size(); ++p) {
        if (kIdentities[p] != c.identity) continue;
        best = std::max(best, testing::Dot(Fused(0), Fused(p)));
        ++templates;
      }
      EXPECT_NEAR(c.score, best, kTolerance + kScoreStep / 2) << c.identity;
      EXPECT_EQ(c.templates, templates);
    }
  }

  const testing::TemporaryFolder folder_;
  Model model_;
  Instance instance_;
  ckks::SecretKey secret_;
};

}  // namespace heft::golden

#endif  // HEFT_TESTS_GOLDEN_TESTING_H_
