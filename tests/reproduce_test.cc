// SPDX-License-Identifier: Apache-2.0
// heft-paper. With reproduce --quick, the chosen sections are in the page and in the JSON, numbers
// agree with known values, and wrong inputs are refused before any work. counts gives table 1 of a
// model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/testing.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

class ReproduceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", (*work_)("data"), "--jitter", "1", "--identities", "24",
                 "--samples", "4", "--dimensions", "24", "16"});
  }
  static void TearDownTestSuite() { delete work_; }
  static Workplace* work_;
};
Workplace* ReproduceTest::work_ = nullptr;

const nlohmann::json& TableOf(const nlohmann::json& section, const std::string& id) {
  for (const auto& table : section.at("tables")) {
    if (table.at("id") == id) return table.at("rows");
  }
  throw std::runtime_error("no table " + id);
}

TEST_F(ReproduceTest, QuickSectionsAgreeWithPlainNumbers) {
  const Workplace& w = *work_;
  const nlohmann::json result =
      Must(kHeftPaper, {"reproduce", "--data", w("data"), "--out", w("report.html"), "--quick",
                        "--only", "fig5,fig9,table1,table2,table3,protocols"});
  const auto& sections = result.at("sections");
  ASSERT_EQ(sections.size(), 6u);
  EXPECT_EQ(nlohmann::json::parse(Slurp(w("report.json"))), result);

  // Every encrypted row differs from its row on plain vectors by no more than predicted.
  int encrypted = 0;
  for (const auto& row : TableOf(sections.at("table2"), "systems")) {
    const double auroc = row.at("auroc").at("value");
    EXPECT_GE(auroc, 0.3) << row;
    EXPECT_LE(auroc, 1.0) << row;
    if (row.at("domain") != "encrypted") continue;
    ++encrypted;
    EXPECT_LE(row.at("score_error").get<double>(), row.at("predicted").get<double>()) << row;
    EXPECT_GT(row.at("score_error").get<double>(), 0) << "encrypted scores carry noise: " << row;
  }
  EXPECT_GE(encrypted, 3);
  for (const auto& row : TableOf(sections.at("table1"), "operations")) {
    EXPECT_EQ(row.at("counted"), row.at("predicted")) << row;
  }
  for (const auto& row : TableOf(sections.at("protocols"), "protocols")) {
    EXPECT_TRUE(row.at("within").get<bool>()) << row;
  }
  // Enrolments are comparable as wholes: our sum and the paper's have the same stages.
  for (const auto& row : TableOf(sections.at("table3"), "enrolment")) {
    for (const std::string of : {"", "paper_"}) {
      double sum = 0;
      if (row.at(of + "all").is_null()) continue;
      for (const char* stage : {"concatenation", "projection", "normalisation", "preprocessing"}) {
        const auto& ms = row.at(of + stage);
        if (ms.is_number()) sum += ms.get<double>();
      }
      EXPECT_NEAR(row.at(of + "all").get<double>(), sum, 0.02) << row;
    }
  }
  // docs/design.md, "Fits": the minimax quadratic on [0.05, 3] is off by 37%, the cubic by 26%.
  for (const auto& row : TableOf(sections.at("fig9"), "methods")) {
    if (row.at("method") == "degree 2, minimax") {
      EXPECT_NEAR(row.at("error_paper_interval").get<double>(), 0.37, 0.005);
    }
    if (row.at("method") == "degree 3, minimax") {
      EXPECT_NEAR(row.at("error_paper_interval").get<double>(), 0.26, 0.005);
    }
  }

  const std::string html = Slurp(w("report.html"));
  size_t pictures = 0, charts = 0;
  for (size_t at = 0; (at = html.find("<svg", at)) != html.npos; ++at) ++pictures;
  for (const auto& section : sections) charts += section.at("charts").size();
  EXPECT_EQ(pictures, charts);
  EXPECT_EQ(html.find("http://"), html.npos) << "nothing is loaded from elsewhere";
}

TEST_F(ReproduceTest, ReadsPublishedFilesAndMatrices) {
  const Workplace& w = *work_;
  std::filesystem::create_directories(w("published"));
  // Two orthogonal directions for each identity, so that the right projection maps onto them.
  std::string a, b, labels = "[";
  for (int i = 0; i < 24; ++i) {
    const double x = std::cos(i / 2), y = std::sin(i / 2), jitter = 0.01 * (i % 2);
    a += std::to_string(x + jitter) + " " + std::to_string(y) + " \n";
    b += "[";
    b += std::to_string(y - jitter) + " " + std::to_string(x) + " ]\n";
    if (i > 0) labels += ", ";
    labels += std::to_string(i / 2);
  }
  Spill(w("published/A_values_test.txt"), a);
  Spill(w("published/B_values_test.txt"), b);
  Spill(w("published/L_values_test.txt"), labels + "]");
  Spill(w("P.txt"), "[[0.9, 0.0, 0.0, 0.1], [0.0, 0.9, 0.1, 0.0]]");
  const nlohmann::json result =
      Must(kHeftPaper, {"reproduce", "--data", w("published"), "--out", w("published.html"),
                        "--quick", "--only", "table2", "--exact-projection", w("P.txt"),
                        "--aware-projection", w("P.txt")});
  for (const auto& row : TableOf(result.at("sections").at("table2"), "systems")) {
    if (row.at("id") == "learned_exact") {
      EXPECT_GT(row.at("auroc").at("value").get<double>(), 0.9);
    }
  }
}

TEST_F(ReproduceTest, WrongInputIsRefusedWithOneLine) {
  const Workplace& w = *work_;
  struct Case {
    Args args;
    const char* message;
  };
  for (const Case& c : {Case{{"--out", w("r.html"), "--only", "table9"}, "choose of encodings"},
                        Case{{"--out", w("r.pdf")}, ".html"},
                        Case{{"--out", w("no/such/r.html")}, "no such folder"},
                        Case{{"--out", w("r.html"), "--data", w("nothing")}, "nothing"},
                        Case{{"--out", w("r.html"), "--exact-projection", w("P.txt")}, "both"}}) {
    Args args = {"reproduce", "--quiet"};
    args.insert(args.end(), c.args.begin(), c.args.end());
    const Finished run = RunProgram(kHeftPaper, args);
    EXPECT_EQ(run.exit_code, kInput) << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.message));
    EXPECT_EQ(Lines(run.err), 1u) << run.err;
    EXPECT_FALSE(std::filesystem::exists(w("r.html")));
  }
}

// The golden model fuses 4 + 3 dimensions to 2: padded to 8, two folds.
TEST_F(ReproduceTest, CountsTableOneForAModel) {
  const nlohmann::json counts = Must(
      kHeftPaper, {"counts", testing::SourcePath("tests/golden/model.heft"), "--samples", "1024"});
  // 8,192 slots hold 512 windows of two copies: two ciphertexts.
  const auto& dense = counts.at("dense").at("projection");
  EXPECT_EQ(dense.at("paper").at("additions"), 2 * 2);
  EXPECT_EQ(dense.at("engine").at("additions"), 2 * 3);
  EXPECT_EQ(dense.at("engine").at("plain_products"), 2 * 2);
  EXPECT_EQ(dense.at("engine").at("rotations"), dense.at("paper").at("rotations"));
  EXPECT_THAT(dense.at("difference").get<std::string>(), HasSubstr("one less"));
  const auto& simd = counts.at("simd").at("projection");
  EXPECT_EQ(simd.at("engine").at("plain_products"), 2 * 7);
  EXPECT_EQ(simd.at("engine").at("ciphertexts"), 2);
  EXPECT_EQ(RunProgram(kHeftPaper, {"counts", "nothing.heft"}).exit_code, kInput);
}

}  // namespace
}  // namespace heft::e2e
