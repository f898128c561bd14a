// SPDX-License-Identifier: Apache-2.0
// The main function of the test programs. Randomness is fixed: the name of a test determines all
// its draws, so that it passes always or never. HEFT_TEST_SEED=WORD selects other draws, the same
// for the same word (scripts/soak-tests). --source=NAME_test.cc runs only the tests of one source.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/testing.h"

namespace {

class FixedRandomness : public ::testing::EmptyTestEventListener {
  void OnTestSuiteStart(const ::testing::TestSuite& suite) override { Fix(suite.name()); }
  void OnTestStart(const ::testing::TestInfo& test) override {
    Fix(std::string(test.test_suite_name()) + "." + test.name());
  }
  // Between tests: draws at the end of a suite or of an environment.
  void OnTestEnd(const ::testing::TestInfo&) override { Fix("after a test"); }

  void Fix(const std::string& name) const { heft::testing::FixRandomness(word_ + "/" + name); }

  const char* const given_ = std::getenv("HEFT_TEST_SEED");
  const std::string word_ = given_ == nullptr ? "" : given_;
};

// OwnState: keeps the state of keys (HEFT_STATE_DIR) of this program and its children in a folder
// of this run, separate from the state of a developer's own keys.
class OwnState : public ::testing::Environment {
  void SetUp() override { setenv("HEFT_STATE_DIR", folder_.emplace().path().c_str(), 1); }
  void TearDown() override { folder_.reset(); }

  std::optional<heft::testing::TemporaryFolder> folder_;
};

// Selects the tests of `source`, unless tests are already selected by name. False if there are
// none, because an empty run would pass unnoticed.
bool SelectSource(const std::string& source) {
  if (GTEST_FLAG_GET(filter) != "*") return true;
  std::string filter;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(t);
      if (!std::string_view(test.file()).ends_with("/" + source)) continue;
      filter.append(suite.name()).append(".").append(test.name()).append(":");
    }
  }
  GTEST_FLAG_SET(filter, filter);
  return !filter.empty();
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kSource = "--source=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kSource) ||
        !SelectSource(std::string(argument.substr(kSource.size())))) {
      std::fprintf(stderr, "%s: no tests for %s\n", argv[0], argv[i]);
      return 2;
    }
  }
  ::testing::UnitTest::GetInstance()->listeners().Append(new FixedRandomness);
  ::testing::AddGlobalTestEnvironment(new OwnState);
  return RUN_ALL_TESTS();
}
