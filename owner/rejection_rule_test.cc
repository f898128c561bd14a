// SPDX-License-Identifier: Apache-2.0
// The rule for decisions (docs/security-proofs.md, "What a client learns from decisions"), by
// simulation of days at a door: an honest person passes, garbage under a name does not stop that,
// and a client that guesses makes no more claims than the formula says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "owner/query_journal.h"

namespace heft {
namespace {

constexpr ModelId kRuleModel = {4};
constexpr ClientId kHonestDoor = {1};
constexpr uint64_t kSecondsADay = 86400, kStart = 1'000'000'000;

// World: a journal with the default limits, and a clock.
class World {
 public:
  World() {
    journal_ = *QueryJournal::InMemory(BudgetLimits(), {.clock = [this] { return now; }});
    limits_ = BudgetLimits();
  }
  enum class Told { kAccepted, kRejected, kSpent };
  // A claim, that is accepted if it is opened and `fits`.
  Told Claim(const ClientId& client, const std::string& who, bool fits) {
    Opening opening;
    opening.model = kRuleModel;
    opening.client = client;
    opening.verification = opening.decision = true;
    opening.claimed = who;
    opening.replies = {Hash{}};
    const uint64_t number = ++replies_;
    std::copy_n(reinterpret_cast<const uint8_t*>(&number), 8, opening.replies[0].begin());
    const absl::Status charged = journal_->Charge(opening);
    if (charged.ok()) {
      const absl::Status told = journal_->PublishDecision(opening, who, fits);
      EXPECT_TRUE(told.ok()) << told;
      return fits ? Told::kAccepted : Told::kRejected;
    }
    EXPECT_EQ(charged.code(), absl::StatusCode::kResourceExhausted) << charged;
    return Told::kSpent;
  }
  const BudgetLimits& limits() const { return limits_; }

  uint64_t now = kStart;

 private:
  std::unique_ptr<QueryJournal> journal_;
  BudgetLimits limits_;
  uint64_t replies_ = 0;
};

class PassagesTest : public ::testing::TestWithParam<double> {};

// A month of 100 passages a day at one door. Who is rejected tries again, and three other clients
// send garbage under the name all day.
TEST_P(PassagesTest, AHundredADayBesideGarbage) {
  constexpr int kPassages = 100, kDays = 30, kGarbageADay = 300;
  World world;
  std::mt19937_64 random(7);
  std::bernoulli_distribution rejected(GetParam());
  int passages = 0, locked = 0;
  std::vector<int> garbage(3);
  for (int day = 0; day < kDays; ++day) {
    for (int i = 0; i < kPassages; ++i) {
      world.now = kStart + day * kSecondsADay + i * kSecondsADay / kPassages;
      for (size_t c = 0; c < garbage.size(); ++c) {
        for (int g = 0; g < kGarbageADay / kPassages; ++g) {
          const ClientId sender = {static_cast<uint8_t>(10 + c)};
          garbage[c] += world.Claim(sender, "ann", false) != World::Told::kSpent;
        }
      }
      World::Told told;
      do {
        told = world.Claim(kHonestDoor, "ann", !rejected(random));
      } while (told == World::Told::kRejected);
      passages += told == World::Told::kAccepted;
      locked += told == World::Told::kSpent;
    }
  }
  EXPECT_EQ(passages, kPassages * kDays);
  EXPECT_EQ(locked, 0);
  for (const int sent : garbage) {
    EXPECT_LE(sent, 16 + kDays);
    EXPECT_GE(sent, 16 + kDays - 2) << "each of them costs its sender one";
  }
}
INSTANTIATE_TEST_SUITE_P(FalseNonMatchRates, PassagesTest, ::testing::Values(0.0, 0.1, 0.3));

// Before its first acceptance a client makes at most 16 + t claims in t days, whatever it does
// when.
TEST(RejectionRuleTest, AClientMakesSixteenClaimsAndOneADay) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    World world;
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<uint64_t> pause(
        0, seed % 2 == 0 ? kSecondsADay / 4 : 3 * kSecondsADay);
    std::uniform_int_distribution<int> tries(0, 20);
    uint64_t claims = 0;
    while (world.now < kStart + 60 * kSecondsADay) {
      for (int i = tries(random); i > 0; --i) {
        claims += world.Claim(kHonestDoor, "ann", false) == World::Told::kRejected;
      }
      ASSERT_LE(claims, world.limits().rejections + (world.now - kStart) / kSecondsADay) << seed;
      world.now += pause(random);
    }
    EXPECT_GT(claims, world.limits().rejections) << seed << ": some come back";
  }
}

// And after that at most 16 + t rejections more than it is accepted, which 128 times a day it is.
TEST(RejectionRuleTest, AcceptancesPayForAsManyRejections) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    World world;
    std::mt19937_64 random(seed);
    std::bernoulli_distribution fits(0.1 * static_cast<double>(seed));
    uint64_t accepted = 0, rejected = 0;
    for (uint64_t hour = 0; hour < 5 * 24; ++hour) {
      world.now = kStart + hour * kSecondsADay / 24;
      for (int i = 0; i < 60; ++i) {
        const World::Told told = world.Claim(kHonestDoor, "ann", fits(random));
        accepted += told == World::Told::kAccepted;
        rejected += told == World::Told::kRejected;
      }
      const double days = static_cast<double>(hour) / 24;
      ASSERT_LE(static_cast<double>(rejected),
                static_cast<double>(world.limits().rejections + accepted) + days)
          << seed;
      ASSERT_LE(static_cast<double>(accepted), 128 * (1 + days)) << seed;
    }
  }
}

// Who guesses, with a chance of w a claim: c clients in t days are accepted with a probability of
// c (16 + t) w at most.
TEST(RejectionRuleTest, GuessesAreAcceptedAsRarelyAsTheFormulaSays) {
  constexpr int kRuns = 1000, kClients = 3, kDays = 10;
  constexpr double kRate = 2e-3;
  std::mt19937_64 random(11);
  std::bernoulli_distribution fits(kRate);
  int broken = 0;
  for (int run = 0; run < kRuns; ++run) {
    World world;
    bool accepted = false;
    for (int day = 0; day <= kDays && !accepted; ++day) {
      world.now = kStart + day * kSecondsADay;
      for (uint8_t c = 0; c < kClients && !accepted; ++c) {
        World::Told told;
        do {
          told = world.Claim({static_cast<uint8_t>(1 + c)}, "ann", fits(random));
        } while (told == World::Told::kRejected);
        accepted = told == World::Told::kAccepted;
      }
    }
    broken += accepted;
  }
  const double bound = kClients * (16 + kDays) * kRate, exact = 1 - std::pow(1 - kRate, 3 * 26);
  const double deviation = std::sqrt(kRuns * exact * (1 - exact));
  EXPECT_LE(broken, kRuns * bound);
  EXPECT_NEAR(broken, kRuns * exact, 4 * deviation) << "the formula is no looser than it must be";
}

// All who are not listed are one client.
TEST(RejectionRuleTest, UnlistedClientsShareOneAllowance) {
  World world;
  int claims = 0;
  for (int i = 0; i < 40; ++i) {
    claims += world.Claim(kUnlistedClient, "ann", false) == World::Told::kRejected;
  }
  EXPECT_EQ(claims, 16);
  EXPECT_EQ(world.Claim(kHonestDoor, "ann", true), World::Told::kAccepted);
  for (int i = 0; i < 2000; ++i) {
    claims += world.Claim(kUnlistedClient, std::to_string(i), false) == World::Told::kRejected;
  }
  EXPECT_EQ(claims, 1000) << "a tenth of a client's bits";
}

}  // namespace
}  // namespace heft
