// SPDX-License-Identifier: Apache-2.0
// One ring, a gallery of a thousand: a probe that is no vector of a person is given away by the
// proof of its norm, as in a small gallery.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "ckks/arithmetic.h"
#include "owner/key_owner_impl.h"
#include "owner/testing.h"

namespace heft {
namespace {

using ckks::Ciphertext;

constexpr uint64_t kPerson = 7;
constexpr size_t kTemplates = 1024;
constexpr double kThreshold = 0.5;

class LargeGalleryTest : public testing::GalleryTest {
 protected:
  void SetUp() override {
    std::vector<uint64_t> seeds(kTemplates);
    std::vector<std::string> names;
    for (uint64_t i = 0; i < seeds.size(); ++i) {
      seeds[i] = i;
      names.push_back("person " + std::to_string(i));
    }
    const auto done =
        testing::EnrolDirectly(*server_, directory_, Set(seeds, names, SampleEncoding::kBulk));
    ASSERT_TRUE(done.ok()) << done.status();
  }
  // kPerson's samples, changed.
  SampleSet Probe(const std::function<void(Ciphertext*)>& change) const {
    std::vector<SampleReader> files;
    for (size_t m = 0; m < 2; ++m) {
      const SampleReader honest = Samples(m, {kPerson}, {"probe"});
      Ciphertext c = *honest.Sample(0);
      change(&c);
      SampleWriter writer(*instance_->context, honest.header(), honest.labels());
      writer.Add(c);
      files.push_back(*SampleReader::Parse(instance_->context, writer.Finish(), "forged"));
    }
    return *SampleSet::Create(*instance_, *model_, std::move(files));
  }
  OpenedScores Ask(const std::function<void(Ciphertext*)>& change) const {
    const Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
    const auto reply = server_->Identify(gallery, Probe(change), {});
    EXPECT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->norm_form, NormForm::kProof);
    const auto opened = Owner().Open(SerializeScores(*instance_->context, *reply), "reply");
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *opened;
  }
};

TEST_F(LargeGalleryTest, AnHonestProbeIsAnswered) {
  const OpenedScores opened = Ask([](Ciphertext*) {});
  EXPECT_EQ(opened.refusal, "");
  EXPECT_EQ(opened.Decide(kThreshold).identity, "person " + std::to_string(kPerson));
}

// Attacks: longer and longer, which wraps around modulo Q at some length; turned about; garbage.
TEST_F(LargeGalleryTest, WhatIsNoVectorIsRefused) {
  for (const int64_t factor : {2, 3, -3, 5, 8, 13, 21, 34, 1000, -30000, 1 << 20}) {
    const OpenedScores opened =
        Ask([&](Ciphertext* c) { ckks::MultiplyInteger(*instance_->context, c, *c, factor); });
    EXPECT_NE(opened.refusal, "") << factor;
    EXPECT_FALSE(opened.Decide(kThreshold).accepted) << factor;
  }
  for (int i = 0; i < 5; ++i) {  // fresh keys of the probe make each another
    const OpenedScores opened = Ask([](Ciphertext* c) { std::swap(c->parts[0], c->parts[1]); });
    EXPECT_NE(opened.refusal, "");
    EXPECT_FALSE(opened.Decide(kThreshold).accepted);
  }
}

}  // namespace
}  // namespace heft
