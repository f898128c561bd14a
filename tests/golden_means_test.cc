// SPDX-License-Identifier: Apache-2.0
// Golden files with means (tests/golden/means/): a pending enrolment of a template that is the mean
// of two samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "fusion/mean.h"
#include "gallery/admission.h"
#include "gallery/change.h"
#include "tests/golden_testing.h"

namespace heft::golden {
namespace {

class GoldenMeansTest : public ::testing::Test {
 protected:
  GoldenMeansTest()
      : model_(Ok(Model::Parse(Golden("model-2.heft"), "model-2.heft"))),
        rings_(Ok(MakeRings(model_))),
        secret_(Ok(ParseSecretKey(*instance().context, Golden("secret.key"), {}, "secret.key"))) {}
  const Instance& instance() const { return rings_.matching; }
  GalleryBinding Binding() const { return BindingOf(instance(), model_, secret_.key_id()); }
  ProvenEnrolment Pending(const std::string& name = "means/waiting.heft") const {
    return Ok(ParseProvenEnrolment(rings_, Binding(), Golden(name), name));
  }
  // The template of Ann: the mean of the samples of persons 0 and 2.
  std::vector<double> Mean() const {
    std::vector<std::vector<double>> mean;
    for (size_t m = 0; m < 2; ++m) {
      mean.emplace_back(model_.modalities[m].dimension, 0.0);
      for (const size_t person : {0, 2}) {
        const auto unit = *NormalisedVector(Vector(m, person), model_.modalities[m]);
        for (size_t d = 0; d < unit.size(); ++d) mean[m][d] += MeanFactor(model_, 2) * unit[d];
      }
    }
    return testing::FusePlain(model_, mean);
  }

  const Model model_;
  const Rings rings_;
  const ckks::SecretKey secret_;
  const testing::TemporaryFolder folder_;
};

TEST_F(GoldenMeansTest, MetadataAndExpiryOfOneWhoWaits) {
  ProvenEnrolment kept = Pending("means/metadata.heft");
  EXPECT_EQ(kept.templates[0].metadata, kMetadata);
  EXPECT_EQ(kept.templates[0].expires, kExpires);
  EXPECT_EQ(SerializeProvenEnrolment(rings_, Binding(), kept), Golden("means/metadata.heft"));
  kept.templates[0].metadata.clear();
  kept.templates[0].expires = 0;
  EXPECT_EQ(SerializeProvenEnrolment(rings_, Binding(), kept), Golden("means/waiting.heft"))
      << "written as before where there is neither";
}

TEST_F(GoldenMeansTest, ThePendingEnrolmentIsOfTwoSamples) {
  const ProvenEnrolment waiting = Pending();
  ASSERT_EQ(waiting.templates.size(), 1u);
  EXPECT_EQ(waiting.templates[0].identity, "ann");
  EXPECT_EQ(waiting.templates[0].parts.size(), 2u);
  EXPECT_EQ(SerializeProvenEnrolment(rings_, Binding(), waiting), Golden("means/waiting.heft"));
}

TEST_F(GoldenMeansTest, WhatWaitedIsTheMean) {
  const ProvenEnrolment waiting = Pending();
  EXPECT_EQ(waiting.proofs.size(), kNormProofs);
  ASSERT_EQ(waiting.fused.size(), 1u);
  const auto slots =
      instance().encoder->Decode(ckks::Decrypt(*instance().context, waiting.fused[0], secret_));
  const std::vector<double> mean = Mean();
  for (size_t t = 0; t < slots.size(); ++t) {
    ASSERT_NEAR(slots[t].real(), mean[t % mean.size()], kTolerance) << t;
  }
}

// A sample in a mean is recognised when it is sent again, alone and under another name.
TEST_F(GoldenMeansTest, SamplesInTheMeanAreKnown) {
  Csprng rng;
  const auto server = Ok(Server::Impl::Create(
      model_, testing::MakeKeys(*instance().context, instance().plan.keys, secret_, rng)));
  EnrolOptions options;
  options.identity = "mallory";
  // The enrolment of then waits in a gallery of now.
  const std::string gallery = folder_ / "gallery";
  const std::vector<uint8_t> bytes = Golden("means/waiting.heft");
  const PendingTemplate ann = Pending().templates.at(0);
  const Enrolment enrolment = {ann.identity, {}, ann.sample, ann.parts, kNoTime, {}};
  {
    GalleryChange change =
        Ok(GalleryChange::Begin(Gallery::Impl::New(gallery, Binding()), /*start=*/true));
    ASSERT_TRUE(change.PutPending(bytes, {&enrolment, 1}, SignerKey{}).ok());
    ASSERT_TRUE(change.Commit().ok());
  }
  auto bring = [&](std::vector<SampleFile> files) {
    return server->EnrolPending(gallery, Ok(server->Read(std::move(files))), options).status();
  };
  const absl::Status known =
      bring({{Golden("face.ct"), "face"}, {Golden("means/voice.ct"), "voice"}});
  EXPECT_EQ(known.code(), absl::StatusCode::kAlreadyExists) << known;
  // The face alone counts as another sample.
  EXPECT_TRUE(bring({{Golden("face.ct"), "face"}}).ok());
}

}  // namespace
}  // namespace heft::golden
