// SPDX-License-Identifier: Apache-2.0
// Golden files with means (tests/golden/means/): a gallery's manifest and a pending enrolment, of a
// template that is the mean of two samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/envelope.h"
#include "fusion/mean.h"
#include "gallery/admission.h"
#include "gallery/legacy_gallery.h"
#include "gallery/merkle.h"
#include "tests/golden_testing.h"

namespace heft::golden {
namespace {

class GoldenMeansTest : public ::testing::Test {
 protected:
  GoldenMeansTest()
      : model_(Ok(Model::Parse(Golden("model-2.heft"), "model-2.heft"))),
        rings_(Ok(MakeRings(model_))),
        secret_(Ok(ParseSecretKey(*instance().context, Golden("secret.key"), {}, "secret.key"))) {
    EXPECT_TRUE(WriteFileAtomic(folder_ / "manifest.heft", Golden("means/manifest.heft")).ok());
    gallery_ = Ok(LegacyGallery::Read(folder_.path()));
  }
  // The gallery's folder with a block of zeros, since there is no golden file of one. The manifest
  // gets its hash and root.
  std::string WithABlock() const {
    ByteWriter block;
    WriteBinding(block, gallery_.binding);
    block.U64(0);
    block.Raw(std::vector<uint8_t>(44));
    block.U32Array(std::vector<uint32_t>(TiledSize(*instance().context, model_.gamma)));
    const std::vector<uint8_t> file = SealEnvelope("GBLK", 1, block.bytes());
    Digest hash;
    std::copy(file.end() - static_cast<std::ptrdiff_t>(hash.size()), file.end(), hash.begin());
    const Digest root = MerkleRoot(gallery_.identities.size(), [&](uint64_t position) {
      ByteWriter leaf;
      leaf.U64(position);
      leaf.String(gallery_.identities[position]);
      leaf.Raw(hash);
      leaf.U64(gallery_.generations[0]);
      return LeafHash(leaf.bytes());
    });
    const std::vector<uint8_t> golden = Golden("means/manifest.heft");
    std::vector<uint8_t> payload(
        golden.begin() + kEnvelopeHeaderSize,
        golden.end() - static_cast<std::ptrdiff_t>(kEnvelopeOverhead - kEnvelopeHeaderSize));
    for (const auto& [was, is] : {std::pair(gallery_.hashes[0], hash), {*gallery_.root, root}}) {
      const auto at = std::search(payload.begin(), payload.end(), was.begin(), was.end());
      EXPECT_NE(at, payload.end());
      if (at != payload.end()) std::ranges::copy(is, at);
    }
    const std::string folder = folder_ / "with-a-block";
    EXPECT_TRUE(MakeDirectories(folder).ok());
    EXPECT_TRUE(WriteFileAtomic(folder + "/manifest.heft", SealEnvelope("GALM", 6, payload)).ok());
    EXPECT_TRUE(WriteFileAtomic(
                    folder + "/block-0-" + std::to_string(gallery_.generations[0]) + ".heft", file)
                    .ok());
    return folder;
  }
  const Instance& instance() const { return rings_.matching; }
  GalleryBinding Binding() const { return BindingOf(instance(), model_, secret_.key_id()); }
  QuarantinedEnrolment Waiting(const std::string& name = "means/waiting.heft") const {
    return Ok(ParseQuarantined(rings_, Binding(), Golden(name), name));
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
  LegacyGallery gallery_;
};

TEST_F(GoldenMeansTest, MetadataAndExpiryOfOneWhoWaits) {
  QuarantinedEnrolment kept = Waiting("means/metadata.heft");
  EXPECT_EQ(kept.templates[0].metadata, kMetadata);
  EXPECT_EQ(kept.templates[0].expires, kExpires);
  EXPECT_EQ(SerializeQuarantined(rings_, Binding(), kept), Golden("means/metadata.heft"));
  kept.templates[0].metadata.clear();
  kept.templates[0].expires = 0;
  EXPECT_EQ(SerializeQuarantined(rings_, Binding(), kept), Golden("means/waiting.heft"))
      << "written as before where there is neither";
}

TEST_F(GoldenMeansTest, ManifestAndWaitingEnrolmentAgree) {
  EXPECT_EQ(gallery_.identities, (std::vector<std::string>{"bob", "ann"}));
  EXPECT_EQ(gallery_.generation, 2u);
  EXPECT_TRUE(gallery_.root.has_value());
  EXPECT_TRUE(gallery_.CheckRoot(instance()).ok()) << gallery_.CheckRoot(instance());
  const QuarantinedEnrolment waiting = Waiting();
  ASSERT_EQ(waiting.templates.size(), 1u);
  EXPECT_EQ(waiting.templates[0].identity, "ann");
  EXPECT_EQ(waiting.templates[0].sample, gallery_.samples[1]);
  EXPECT_EQ(waiting.templates[0].parts.size(), 2u);
  EXPECT_THAT(gallery_.parts, ::testing::UnorderedElementsAreArray(waiting.templates[0].parts));
  const GalleryBinding binding = BindingOf(instance(), model_, secret_.key_id());
  EXPECT_EQ(SerializeQuarantined(rings_, binding, waiting), Golden("means/waiting.heft"));
}

TEST_F(GoldenMeansTest, WhatWaitedIsTheMean) {
  const QuarantinedEnrolment waiting = Waiting();
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
  const std::string gallery = folder_ / "imported";
  const absl::Status imported = ImportLegacyGallery(WithABlock(), gallery, model_);
  ASSERT_TRUE(imported.ok()) << imported;
  auto bring = [&](std::vector<SampleFile> files) {
    return server->Quarantine(gallery, Ok(server->Read(std::move(files))), options).status();
  };
  const absl::Status known =
      bring({{Golden("face.ct"), "face"}, {Golden("means/voice.ct"), "voice"}});
  EXPECT_EQ(known.code(), absl::StatusCode::kAlreadyExists) << known;
  // The face alone counts as another sample.
  EXPECT_TRUE(bring({{Golden("face.ct"), "face"}}).ok());
}

}  // namespace
}  // namespace heft::golden
