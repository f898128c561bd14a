// SPDX-License-Identifier: Apache-2.0
// Files of every kind against every role: each is accepted in its own roles, and in no other.
#include "matcher/file_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "heft/trust.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using ::testing::HasSubstr;

constexpr FileRole kRoles[] = {FileRole::kSample,  FileRole::kTemplate, FileRole::kProbe,
                               FileRole::kReply,   FileRole::kModel,    FileRole::kKeys,
                               FileRole::kRequest, FileRole::kAdmission};

// TakenAs: for which it is good; errors otherwise begin with the file's name.
std::set<FileRole> TakenAs(ByteSpan bytes) {
  std::set<FileRole> out;
  for (const FileRole role : kRoles) {
    const absl::Status checked = CheckFile(role, bytes, "column 3");
    if (checked.ok()) {
      out.insert(role);
    } else {
      EXPECT_THAT(checked.message(), HasSubstr("column 3")) << checked;
    }
  }
  return out;
}

class FileCheckTest : public testing::RolesTest {};

TEST_P(FileCheckTest, EachIsTakenForWhatItIs) {
  using Roles = std::set<FileRole>;
  const Bytes enrolling = Files(1, "ann")[0].bytes;
  EXPECT_EQ(TakenAs(enrolling), Roles({FileRole::kSample}));
  const std::vector<SampleFile> probe = Files(1, "", SampleUse::kIdentification);
  EXPECT_TRUE(TakenAs(probe[0].bytes).contains(FileRole::kProbe));
  EXPECT_EQ(TakenAs(probe[0].bytes).contains(FileRole::kSample), false);

  const SigningKey key = *SigningKey::Generate();
  const Bytes model = model_.Serialize();
  EXPECT_EQ(TakenAs(model), Roles({FileRole::kModel}));
  EXPECT_EQ(TakenAs(*key.Sign({.role = Role::kTrainer}, model)), Roles({FileRole::kModel}));
  EXPECT_EQ(TakenAs(*roles_.owner.EvaluationKeys()), Roles({FileRole::kKeys}));

  ASSERT_TRUE(server_->Enrol(folder_, Files(1, "ann")).ok());
  const Bytes request = *server_->Pending(*Gallery::Open(folder_));
  EXPECT_EQ(TakenAs(request), Roles({FileRole::kRequest}));
  const auto approved = owner_->Approve(request, "request");
  ASSERT_TRUE(approved.ok()) << approved.status();
  EXPECT_EQ(TakenAs(approved->signed_admission), Roles({FileRole::kAdmission}));
  ASSERT_TRUE(Approve(folder_).ok());

  const Bytes reply = *server_->Identify(*Gallery::Open(folder_), probe);
  EXPECT_EQ(TakenAs(reply), Roles({})) << "nobody has signed it";
  EXPECT_EQ(TakenAs(*key.Sign({.role = Role::kServer}, reply)), Roles({FileRole::kReply}));
}

TEST_P(FileCheckTest, WhatItsClientHasFused) {
  const std::vector<float> face = Vector(0, 1), voice = Vector(1, 1);
  const auto fused = [&](SampleUse use) {
    const Samples both[] = {{.modality = model_.modalities[0].name, .values = face, .use = use},
                            {.modality = model_.modalities[1].name, .values = voice, .use = use}};
    return TakenAs(*client_->EncryptFused(both));
  };
  EXPECT_EQ(fused(SampleUse::kEnrolment), (std::set{FileRole::kSample, FileRole::kTemplate}));
  EXPECT_EQ(fused(SampleUse::kIdentification), (std::set{FileRole::kProbe, FileRole::kTemplate}));
}

// Whatever byte is another, or missing, nothing is taken.
TEST_P(FileCheckTest, DamagedFilesAreNone) {
  const Bytes good = Files(1, "ann")[0].bytes;
  for (size_t at = 0; at < good.size(); at += 1 + good.size() / 40) {
    Bytes bad = good;
    bad[at] ^= 1;
    EXPECT_EQ(TakenAs(bad).size(), 0u) << at;
    EXPECT_EQ(TakenAs(ByteSpan(good).first(at)).size(), 0u) << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, FileCheckTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
