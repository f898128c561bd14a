// SPDX-License-Identifier: Apache-2.0
#include "ckks/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

namespace heft::ckks {
namespace {

using ::testing::HasSubstr;

// The bounds of docs/security-proofs.md, with their sources. The quantum bound is only the start of
// a search, so it is never stated as a level.
constexpr char kBelowTheGuess[] =
    "128-bit classical (2024), and below an unconfirmed quantum bound";

TEST(ParamsTest, BoundsOfTheTables) {
  struct Row {
    uint32_t n;
    int classical_2024, quantum_2024, classical_2018;
  };
  for (const Row& row : {Row{4096, 106, 101, 109}, Row{8192, 214, 203, 218},
                         Row{16384, 430, 409, 438}, Row{32768, 868, 825, 881}}) {
    const Security security = Params::Create({row.n, {30, 28}, 30})->security();
    EXPECT_EQ(security.bound_2024_classical, row.classical_2024) << row.n;
    EXPECT_EQ(security.bound_2024_quantum, row.quantum_2024) << row.n;
    EXPECT_EQ(security.bound_2018_classical, row.classical_2018) << row.n;
    EXPECT_EQ(security.Describe(), kBelowTheGuess);
  }
  // A degree outside all tables is never secure.
  EXPECT_FALSE(Params::Create({2048, {30}, 20}).ok());
  EXPECT_EQ(Params::Create({2048, {30}, 20, true})->security().Describe(),
            "below 128 bits: INSECURE");
}

// The total, including the special prime, determines the level.
TEST(ParamsTest, LevelsByTotalBits) {
  const auto level = [](std::vector<int> bits, int special) {
    return Params::Create({4096, std::move(bits), special, true})->security().Describe();
  };
  EXPECT_EQ(level({30, 30, 20}, 20), kBelowTheGuess);                            // 100 bits
  EXPECT_EQ(level({30, 30, 20}, 25), "128-bit classical (2024)");                // 105
  EXPECT_EQ(level({30, 30, 20}, 28), "128-bit classical (2018 standard only)");  // 108
  EXPECT_EQ(level({30, 30, 20}, 30), "below 128 bits: INSECURE");                // 110
}

TEST(ParamsTest, InsecureSetsAreRefusedUnlessAllowed) {
  // 218 bits at N = 8192: allowed by the 2018 standard, but not by the 2024 table.
  ParamsSpec spec{8192, {30, 29, 28, 28, 28, 25, 20}, 30, false};
  auto refused = Params::Create(spec);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("insecure"));
  spec.allow_insecure = true;
  auto allowed = Params::Create(spec);
  ASSERT_TRUE(allowed.ok());
  EXPECT_EQ(allowed->security().Describe(), "128-bit classical (2018 standard only)");
}

TEST(ParamsTest, BadLiteralsAreRefused) {
  EXPECT_FALSE(Params::Create({8191, {30, 28}, 30}).ok());
  EXPECT_FALSE(Params::Create({65536, {30, 28}, 30}).ok());
  EXPECT_FALSE(Params::Create({8192, {}, 30}).ok());
  EXPECT_FALSE(Params::Create({8192, {31}, 30}).ok());
  EXPECT_FALSE(Params::FromPrimes(8192, {1073692673, 1073692673}).ok());
  EXPECT_FALSE(Params::FromPrimes(8192, {1073692673}).ok());
  EXPECT_FALSE(Params::FromPrimes(8192, {1073692673, 12345}).ok());
}

TEST(ParamsTest, IdentityDependsOnPrimes) {
  auto a = Params::Create({4096, {30, 28}, 30});
  auto b = Params::Create({4096, {30, 28}, 30});
  auto c = Params::Create({4096, {30, 29}, 30});
  EXPECT_TRUE(*a == *b);
  EXPECT_FALSE(*a == *c);
}

}  // namespace
}  // namespace heft::ckks
