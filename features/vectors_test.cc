// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing.h"
#include "features/readers.h"
#include "heft/dataset.h"

namespace heft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VectorsTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name, std::string_view content) const {
    EXPECT_TRUE(WriteFileAtomic(folder_ / name, content).ok());
    return folder_ / name;
  }
  // `content` is refused, by file and by `what`.
  void Refused(std::string_view content, absl::StatusCode code, const std::string& what) const {
    const std::string path = File("refused.txt", content);
    const auto rows = ReadVectors(path);
    EXPECT_EQ(rows.status().code(), code) << content;
    EXPECT_THAT(std::string(rows.status().message()), HasSubstr(path)) << content;
    EXPECT_THAT(std::string(rows.status().message()), HasSubstr(what)) << content;
  }
  const testing::TemporaryFolder folder_;
};

TEST_F(VectorsTest, TextAndNpyGiveTheSameRows) {
  const auto text = ReadVectors(File("a.txt", "1, 2.5 -3\n4e0\t5,6\n"));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->dimension, 3u);
  EXPECT_EQ(text->size(), 2u);
  EXPECT_THAT(text->values, ElementsAre(1, 2.5f, -3, 4, 5, 6));
  EXPECT_THAT(text->row(1), ElementsAre(4, 5, 6));
  FeatureMatrix matrix(2, 3);
  matrix << 1, 2.5, -3, 4, 5, 6;
  // The content gives the form, not the file's name.
  ASSERT_TRUE(WriteNpy(folder_ / "b.txt", matrix).ok());
  const auto npy = ReadVectors(folder_ / "b.txt");
  ASSERT_TRUE(npy.ok()) << npy.status();
  EXPECT_EQ(npy->dimension, 3u);
  EXPECT_EQ(npy->values, text->values);
  const auto brackets = ReadVectors(File("c.txt", "[1 2.5\n -3] [4, 5, 6]"));
  ASSERT_TRUE(brackets.ok()) << brackets.status();
  EXPECT_EQ(brackets->values, text->values);
  EXPECT_EQ(FeatureRows().size(), 0u);
}

TEST_F(VectorsTest, RefusesWhatAFloatCannotHold) {
  Refused("1 2\n3 nan\n", absl::StatusCode::kInvalidArgument, "row 1");
  Refused("1 inf\n", absl::StatusCode::kInvalidArgument, "row 0");
  Refused("1 2\n3 4\n1e39 5\n", absl::StatusCode::kInvalidArgument,
          "row 2, column 0 (from 0): too large a number");
  const auto small = ReadVectors(File("small.txt", "3e38 -3e38 1e-50\n"));
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(small->values[2], 0) << "too small for a float is nothing";
}

TEST_F(VectorsTest, RefusesWhatIsNotRows) {
  Refused("", absl::StatusCode::kDataLoss, "empty");
  Refused("1 2\n3\n", absl::StatusCode::kInvalidArgument, "row 1");
  Refused("1 2\n3 four\n", absl::StatusCode::kInvalidArgument, "four");
  Refused("\x93NUMPY\x01", absl::StatusCode::kDataLoss, "");
  EXPECT_EQ(ReadVectors(folder_ / "none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadVectors(folder_.path()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace heft
