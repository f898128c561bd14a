// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/testing.h"
#include "features/readers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

std::vector<uint8_t> Npy(const std::string& header, const std::string& data, int version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes.push_back(static_cast<char>(version));
  bytes.push_back(0);
  bytes.push_back(static_cast<char>(header.size() & 0xff));
  bytes.push_back(static_cast<char>(header.size() >> 8));
  if (version > 1) bytes.append(2, '\0');
  bytes += header + data;
  return {bytes.begin(), bytes.end()};
}

template <typename T>
std::string Raw(std::initializer_list<T> values) {
  std::string raw(values.size() * sizeof(T), '\0');
  std::memcpy(raw.data(), values.begin(), raw.size());
  return raw;
}

TEST(Npy, RoundTrip) {
  const testing::TemporaryFolder folder;
  FeatureMatrix m(2, 3);
  m << 1, -2, 0.5, 4, 5, 1e-3f;
  const std::string path = folder / "round.npy";
  ASSERT_TRUE(WriteNpy(path, m).ok());
  const auto read = ReadNpy(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, m);
  EXPECT_EQ(ReadFeatures(path)->rows(), 2);
  EXPECT_EQ((FormatNpy(m).size() - 24) % 64, 0u);  // numpy aligns the data.
}

TEST(Npy, AcceptsVersionsShapesAndBothFloats) {
  const std::string f4 = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n";
  const std::string f8 = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n";
  const std::string column = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }\n";
  for (int version : {1, 2, 3}) {
    const auto m = ParseNpy(Npy(f4, Raw<float>({1, 2}), version), "x");
    ASSERT_TRUE(m.ok()) << m.status();
    EXPECT_EQ((*m)(0, 1), 2);
  }
  EXPECT_EQ(ParseNpy(Npy(f8, Raw<double>({1, 2})), "x")->cols(), 2);
  EXPECT_EQ(ParseNpy(Npy(column, Raw<double>({1, 2})), "x")->rows(), 2);
}

// An archive of several arrays is called one, not a text file without numbers.
TEST(Npy, SaysThatAnArchiveIsOne) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "face.npz";
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("PK\3\4 and so on")).ok());
  const auto read = ReadFeatures(path);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("face.npz: an .npz archive"));
}

TEST(Npy, RefusesHostileFiles) {
  auto header = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  };
  const std::string data = Raw<float>({1, 2, 3, 4});
  const struct {
    std::vector<uint8_t> bytes;
    std::string says;
  } kCases[] = {
      {{}, "empty"},
      {{1, 2, 3}, "magic"},
      {{'P', 'K', 3, 4, 20, 0, 0, 0, 0, 0, 0, 0}, ".npz archive"},
      {Npy(header("<f4", "False", "(2, 2)"), data, 4), "version 4"},
      {Npy(header("<f4", "True", "(2, 2)"), data), "Fortran"},
      {Npy(header(">f4", "False", "(2, 2)"), data), "little-endian"},
      {Npy(header("<i4", "False", "(2, 2)"), data), "little-endian"},
      {Npy(header("<f4", "False", "(2, 2, 1)"), data), "3 dimensions"},
      {Npy(header("<f4", "False", "()"), data), "0 dimensions"},
      {Npy(header("<f4", "False", "(-1, 2)"), data), "not readable"},
      {Npy(header("<f4", "False", "(2, 3)"), data), "declares 2 x 3"},
      {Npy(header("<f4", "False", "(1, 2)"), data), "declares 1 x 2"},
      {Npy(header("<f4", "False", "(4611686018427387904, 4)"), data), "declares"},
      {Npy(header("<f4", "False", "(99999999999999999999, 4)"), data), "not readable"},
      {Npy(header("<f4", "False", "(0, 4)"), ""), "no numbers"},
      {Npy(header("<f4", "False", "(2 2)"), data), "not readable"},
      {Npy(header("<f4", "False", "(2,, 2)"), data), "not readable"},
      {Npy(header("<f4", "False", "(, 2)"), data), "not readable"},
      {Npy(header("<f4", "False", "(4)"), data), "not readable"},
      {Npy(header("<f4", "False", "(2, 2"), data), "not readable"},
      {Npy(header("<f4", "False", "(+2, 2)"), data), "not readable"},
      {Npy("{}", data), "elements are"},
      {Npy(header("<f4", "False", "(2, 2)"), Raw<float>({1, 2, NAN, 4})), "NaN in row 1, column 0"},
      {Npy(header("<f4", "False", "(2, 2)"), Raw<float>({1, INFINITY, 3, 4})),
       "infinity in row 0, column 1"},
  };
  for (const auto& c : kCases) {
    const auto m = ParseNpy(c.bytes, "x.npy");
    ASSERT_FALSE(m.ok()) << c.says;
    EXPECT_THAT(std::string(m.status().message()), HasSubstr(c.says));
  }
  // Every truncation of a good file is an error.
  const std::vector<uint8_t> good = Npy(header("<f4", "False", "(2, 2)"), data);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseNpy(ByteSpan(good).first(size), "x").ok()) << size;
  }
}

TEST(Text, ReadsPlainAndBracketedRows) {
  for (const char* text :
       {"1 2 3\n4 5 6\n", "1,2,3\n\n4,\t5, 6", "# c\n[1 2 3]\n[4 5 6]\n", "[1,2,3]\r\n[4,5,6]\r\n",
        "[[1. 2.\n 3.]\n [4.e0 +5.\n 6.]]\n", "[[1, 2, 3], [4, 5, 6]]", "1 2 3\n 4 5 6"}) {
    const auto m = ParseTextRows(text, "x");
    ASSERT_TRUE(m.ok()) << text << m.status();
    ASSERT_EQ(m->rows(), 2) << text;
    ASSERT_EQ(m->cols(), 3) << text;
    EXPECT_EQ((*m)(1, 2), 6);
  }
  EXPECT_EQ((*ParseTextRows("1e-400 2", "x"))(0, 0), 0);
  EXPECT_EQ((*ParseTextRows("-1e-400 2", "x"))(0, 0), 0);
  EXPECT_EQ((*ParseTextRows("1e-310 2", "x"))(0, 0), 1e-310);
  const std::string nines(400, '9'), zeros(400, '0');
  EXPECT_EQ((*ParseTextRows("0." + zeros + "1e401 2", "x"))(0, 0), 1);
  EXPECT_EQ((*ParseTextRows(nines + "e-400 2", "x"))(0, 0), 1);
}

TEST(Text, RefusesWhatIsNotRows) {
  const std::string many_nines = absl::StrCat(std::string(400, '9'), "e-5 1");
  const char* const kManyNines = many_nines.c_str();
  const struct {
    const char* text;
    const char* says;
  } kCases[] = {
      {"", "empty"},
      {" \n", "no numbers"},
      {"1 2\n3\n", "row 1"},
      {"1 x\n", "column 1"},
      {"1 nan\n", "NaN in row 0"},
      {"1 2\n-inf 3\n", "infinity in row 1"},
      {"1 1e999\n", "inf"},
      {"[1 2\n", "bracket is open"},
      {"1 2]\n", "do not pair"},
      {"[[[1 2]]]", "not pair"},
      {"1 0x10", "not a number"},
      {"+-1 2", "'+-1' is not a number in row 0, column 0"},
      {"1 ++2", "'++2' is not a number"},
      {"1 +", "not a number"},
      {"1 1e-", "not a number"},
      {"1 -1e999\n", "infinity in row 0, column 1"},
      {kManyNines, "infinity in row 0, column 0"},
      // Empty fields, which shifted the rest of their row.
      {"1,2,3\n4,,6\n", "x: an empty field in row 1, column 1 (from 0)"},
      {"1, ,3\n", "an empty field in row 0, column 1"},
      {",1,2\n", "an empty field in row 0, column 0"},
      {"1,2,\n", "an empty field in row 0, column 2"},
      {"1,2,", "an empty field in row 0, column 2"},
      {"1;2;;3\n", "an empty field in row 0, column 2"},
      {"1\t2\t\t3\n", "an empty field in row 0, column 2"},
      {"1,2\n,\n3,4\n", "an empty field in row 1, column 0"},
      {"[1,,2]", "an empty field in row 0, column 1"},
      {"[,1,2]", "an empty field in row 0, column 0"},
      {"[[1,2],[3,]]", "an empty field in row 1, column 1"},
  };
  for (const auto& c : kCases) {
    const auto m = ParseTextRows(c.text, "x");
    ASSERT_FALSE(m.ok()) << c.text;
    EXPECT_THAT(std::string(m.status().message()), HasSubstr(c.says)) << c.text;
  }
}

TEST(Readers, ChooseByContentAndName) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "rows.txt";
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("1 2\n3 4\n")).ok());
  EXPECT_EQ(ReadFeatures(path)->rows(), 2);
  const std::string fake = folder / "fake.npy";
  ASSERT_TRUE(WriteFileAtomic(fake, std::string_view("1 2\n3 4 and more\n")).ok());
  EXPECT_EQ(ReadFeatures(fake).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadFeatures(folder / "absent.npy").status().code(), absl::StatusCode::kNotFound);
}

TEST(Text, PassesOverAByteOrderMark) {
  const auto rows = ParseTextRows(
      "\xef\xbb\xbf"
      "1 2\n3 4\n",
      "x");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ((*rows)(0, 0), 1);
  EXPECT_FALSE(ParseTextRows("1 2\n\xef\xbb\xbf"
                             "3 4\n",
                             "x")
                   .ok());
  for (const char* text : {"\xef\xbb\xbf"
                           "ann\nbob\n",
                           "\xef\xbb\xbf['ann', 'bob']"}) {
    const auto labels = ParseLabels(text, "x");
    ASSERT_TRUE(labels.ok()) << labels.status();
    EXPECT_EQ(*labels, (std::vector<std::string>{"ann", "bob"}));
  }
}

TEST(Labels, ErrorsNameFileAndRow) {
  for (const char* text : {"ann\nb\xfc"
                           "b\n",
                           "['ann', 'b\xfc"
                           "b']"}) {
    const auto labels = ParseLabels(text, "labels.txt");
    EXPECT_EQ(labels.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(labels.status().message()),
                HasSubstr("labels.txt, row 1 (from 0): an identity is not UTF-8"));
  }
  EXPECT_FALSE(ParseLabels("a\u202eb\n", "x").ok());
  EXPECT_FALSE(ParseLabels("a\xc2\x85\n", "x").ok());
  EXPECT_FALSE(ParseLabels("a\tb\n", "x").ok());
  EXPECT_TRUE(ParseLabels("J\xc3\xbcrgen\n", "x").ok());
}

TEST(Labels, TrimAndRefuseGaps) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "labels.txt";
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("a\n b \r\nc\n\n")).ok());
  EXPECT_EQ(*ReadLabels(path), (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("a\n\nb\n")).ok());
  EXPECT_THAT(std::string(ReadLabels(path).status().message()), HasSubstr("line 2"));
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("")).ok());
  EXPECT_FALSE(ReadLabels(path).ok());
}

TEST(Normalise, UnitRowsOrError) {
  FeatureMatrix m(2, 2);
  m << 3, 4, 1e-200, 0;
  ASSERT_TRUE(NormaliseRows(m).ok());
  EXPECT_DOUBLE_EQ(m(0, 0), 0.6);
  EXPECT_DOUBLE_EQ(m(1, 0), 1.0);
  FeatureMatrix other(1, 2);
  other << -3, 4;
  ASSERT_TRUE(NormaliseRows(other, VectorNorm::kL1).ok());
  EXPECT_DOUBLE_EQ(other(0, 0), -3.0 / 7);
  ASSERT_TRUE(NormaliseRows(other, VectorNorm::kMax).ok());
  EXPECT_DOUBLE_EQ(other(0, 0), -0.75);
  EXPECT_DOUBLE_EQ(other(0, 1), 1.0);
  m.row(1).setZero();
  const FeatureMatrix before = m;
  EXPECT_EQ(NormaliseRows(m).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(m, before);
}

}  // namespace
}  // namespace heft
