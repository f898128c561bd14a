// SPDX-License-Identifier: Apache-2.0
// Fixtures that hold a secret key, for the tests of galleries, the server and the key owner.
#ifndef HEFT_OWNER_TESTING_H_
#define HEFT_OWNER_TESTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/testing.h"
#include "fusion/owner/keygen.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/testing.h"
#include "gallery/gallery_impl.h"
#include "matcher/enrol_directly.h"
#include "matcher/server_impl.h"
#include "owner/allow_scores.h"
#include "owner/key_owner_impl.h"

namespace heft::testing {

inline absl::StatusCode Code(const absl::Status& status) { return status.code(); }
template <typename T>
absl::StatusCode Code(const absl::StatusOr<T>& value) {
  return value.status().code();
}

// GalleryTest: one key set and server for all tests of a suite, as making them takes most of the
// time, and a gallery of each test's own.
class GalleryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = new Model(RandomModel({128, 96}, 16, 3));
    instance_ = new Instance(*MakeInstance(*model_));
    Csprng rng;
    secret_ = new ckks::SecretKey(*ckks::SecretKey::Generate(*instance_->context, rng));
    public_key_ = new ckks::PublicKey(ckks::MakePublicKey(*instance_->context, *secret_, rng));
    evaluation_ = new std::vector<uint8_t>(*MakeEvaluationKeys(*instance_, *secret_));
    server_ = Server::Impl::Create(*model_, *evaluation_, "evaluation keys")->release();
  }
  static void TearDownTestSuite() {
    delete server_;
    delete evaluation_;
    delete public_key_;
    delete secret_;
    delete instance_;
    delete model_;
  }
  std::vector<double> Vector(size_t modality, uint64_t seed) const {
    std::mt19937_64 rng(seed * 2 + modality);
    return RandomUnit(model_->modalities[modality].dimension, rng);
  }
  // Samples seeds[i] of one modality, labelled.
  SampleReader Samples(size_t modality, const std::vector<uint64_t>& seeds,
                       const std::vector<std::string>& labels, bool symmetric = false,
                       SampleEncoding encoding = SampleEncoding::kCompact) const {
    std::vector<std::vector<double>> rows;
    for (uint64_t s : seeds) rows.push_back(Vector(modality, s));
    auto bytes = symmetric ? EncryptSamplesSymmetric(*instance_, *model_, modality, *secret_, rows,
                                                     labels, encoding)
                           : EncryptSamples(*instance_, *model_, modality, *public_key_, rows,
                                            labels, encoding);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return *SampleReader::Parse(instance_->context, *bytes, "samples");
  }
  SampleSet Set(const std::vector<uint64_t>& seeds, const std::vector<std::string>& labels,
                SampleEncoding encoding = SampleEncoding::kCompact) const {
    std::vector<SampleReader> files;
    // In any order, either kind of encryption.
    files.push_back(Samples(1, seeds, labels, true, encoding));
    files.push_back(Samples(0, seeds, labels, false, encoding));
    auto set = SampleSet::Create(*instance_, *model_, std::move(files));
    EXPECT_TRUE(set.ok()) << set.status();
    return std::move(*set);
  }
  // Its journal is new, and in memory.
  KeyOwner Owner(const std::optional<BudgetLimits>& limits = kTwoScores) const {
    return OwnerOf(*model_, limits);
  }
  // The same of a model with other rules.
  KeyOwner OwnerOf(const Model& model,
                   const std::optional<BudgetLimits>& limits = kTwoScores) const {
    return *KeyOwner::Impl::Own(
        model,
        SecretKeys(*ckks::SecretKey::FromCoefficients(*instance_->context, secret_->key_id(),
                                                      secret_->coefficients())),
        *QueryJournal::InMemory(limits));
  }
  double Expected(uint64_t a, uint64_t b) const {
    return Dot(FusePlain(*model_, {Vector(0, a), Vector(1, a)}),
               FusePlain(*model_, {Vector(0, b), Vector(1, b)}));
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& e : std::filesystem::directory_iterator(directory_)) {
      names.push_back(e.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  inline static Model* model_ = nullptr;
  inline static Instance* instance_ = nullptr;
  inline static ckks::SecretKey* secret_ = nullptr;
  inline static ckks::PublicKey* public_key_ = nullptr;
  inline static std::vector<uint8_t>* evaluation_ = nullptr;
  inline static Server::Impl* server_ = nullptr;
  const TemporaryFolder temporary_;
  const std::string directory_ = temporary_ / "gallery";
};

// JournalTest: a key's journal in a folder of its own.
inline constexpr ModelId kModel = {4};

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    if (const char* state = std::getenv("HEFT_STATE_DIR")) before_ = state;
    State("state");
    master_ = *NewTagKey();
    EXPECT_TRUE(Open()->Start("for a test").ok());
  }
  ~JournalTest() override { setenv("HEFT_STATE_DIR", before_.c_str(), 1); }

  void State(const std::string& folder) const {
    setenv("HEFT_STATE_DIR", (temporary_ / folder).c_str(), 1);
  }
  // The same key each time, as a process would derive it.
  JournalKeys Keys() const { return *JournalKeys::FromMaster({2}, master_); }
  std::unique_ptr<QueryJournal> Open(const std::string& path = "") const {
    return QueryJournal::OnDisk(path.empty() ? path_ : path, Keys(),
                                {[this] { return now_; }, entries_per_file_});
  }
  static Opening Of(const std::string& claimed, bool decision = false) {
    static uint32_t counter = 0;
    Opening opening;
    opening.model = kModel;
    opening.verification = !claimed.empty();
    opening.claimed = claimed;
    opening.decision = decision;
    opening.replies = {
        HashBytes(AsBytes(std::to_string(getpid()) + " " + std::to_string(++counter)))};
    opening.defaults = {.scores = 20, .decisions = 8, .client_bits = 10000};
    return opening;
  }
  // How many scores of it are granted before the first refusal, or decisions that accept it.
  static int Granted(QueryJournal& journal, const std::string& claimed, bool decision = false) {
    for (int granted = 0;; ++granted) {
      const Opening opening = Of(claimed, decision);
      absl::Status status = journal.Charge(opening);
      if (status.ok() && decision) status = journal.PublishDecision(opening, claimed, true);
      if (status.ok()) continue;
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
      return granted;
    }
  }
  // That nothing is opened, and why.
  static void ExpectRefused(QueryJournal& journal, const std::string& why) {
    const absl::Status status = journal.Charge(Of("ann"));
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(why));
    if (why != "revoked") {
      EXPECT_THAT(std::string(status.message()),
                  ::testing::HasSubstr("heft budget --restart REASON"));
    }
  }
  std::string Slurp() const { return *ReadTextFile(path_); }
  void Spill(const std::string& bytes) const {
    ASSERT_TRUE(WriteFileAtomic(path_, bytes, 0600).ok());
  }
  std::string AnchorFile() const { return AnchorPath(Keys()); }

  const TemporaryFolder temporary_;
  const std::string path_ = temporary_ / "key.journal";
  std::string before_;
  SecureVector<uint8_t> master_;
  uint64_t now_ = 1000000;
  uint64_t entries_per_file_ = 1 << 15;
};

}  // namespace heft::testing

#endif  // HEFT_OWNER_TESTING_H_
