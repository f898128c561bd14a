// SPDX-License-Identifier: Apache-2.0
// A fixture that holds a secret key, for the tests of galleries, the server and the key owner.
#ifndef HEFT_GALLERY_OWNER_TESTING_H_
#define HEFT_GALLERY_OWNER_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/testing.h"
#include "fusion/owner/keygen.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/testing.h"
#include "gallery/gallery_impl.h"
#include "gallery/owner/key_owner_impl.h"
#include "gallery/server_impl.h"

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
  KeyOwner Owner() const {
    return *KeyOwner::Impl::Own(
        *model_, *ckks::SecretKey::FromCoefficients(*instance_->context, secret_->key_id(),
                                                    secret_->coefficients()));
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

}  // namespace heft::testing

#endif  // HEFT_GALLERY_OWNER_TESTING_H_
