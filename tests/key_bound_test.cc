// SPDX-License-Identifier: Apache-2.0
// The information about a secret key that openings may reveal is bounded. There is a warning at
// half of the bound, and heft rekey goes on. Uses the programs; earlier openings are entries that
// the key's own journal accepts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fusion/owner/secret_key_file.h"
#include "fusion/rings.h"
#include "owner/query_journal.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kKeyBits = 6492;  // 4096 log2(3): of the ring of the scores

class KeyBoundTest : public ::testing::Test {
 protected:
  KeyBoundTest() {
    Must(kHeft, {"synth", "--out", w_("data"), "--jitter", "1", "--identities", "17", "--samples",
                 "3", "--dimensions", "16", "12"});
    Must(kHeft, TrainArgs(w_("data"), w_("model.heft")));
    Must(kHeft, {"keygen", "--model", w_("model.heft"), "--out", w_("keys")});
    for (const std::string modality : {"face", "voice"}) {
      Must(kHeft, {"encrypt", "--model", w_("model.heft"), "--key", w_("keys/encryption.key"),
                   "--modality", modality, "--in", w_("data/" + modality + ".npy"), "--labels",
                   w_("data/labels.txt"), "--row", "0", "--out", w_(modality + ".ct")});
    }
    EnrolNow(Serve("enrol", {}), w_("keys/secret.key"));
  }
  Args Serve(const std::string& subcommand, const Args& more) const {
    Args args = {
        subcommand,    "--model",     w_("model.heft"), "--keys",      w_("keys/evaluation.keys"),
        "--gallery",   w_("gallery"), "--in",           w_("face.ct"), "--in",
        w_("voice.ct")};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  Finished Decide(const Args& more = {"--threshold", "0.5"}) {
    const std::string out = w_("reply" + std::to_string(replies_++) + ".ct");
    Must(kServer, Serve("verify", {"--identity", "0", "--out", out}));
    Args args = {"decrypt", "--model", w_("model.heft"), "--secret-key", w_("keys/secret.key"),
                 "--in",    out};
    args.insert(args.end(), more.begin(), more.end());
    return RunProgram(kHeft, args);
  }
  // Adds an opening to the journal that may reveal so many bits of the key.
  void Tell(uint64_t bits) {
    const Model model = ReadModel(w_("model.heft"));
    const auto rings = MakeRings(model);
    const std::string secret = Slurp(w_("keys/secret.key"));
    auto keys = ParseSecretKeys(
        *rings, {reinterpret_cast<const uint8_t*>(secret.data()), secret.size()}, "", "key");
    ASSERT_TRUE(keys.ok()) << keys.status();
    const auto journal =
        QueryJournal::OnDisk(w_("keys/secret.key") + kJournalSuffix, *JournalKeys::Derive(*keys));
    Opening opening;
    opening.model = model.Id();
    opening.decision = true;
    opening.told = bits * kKeyUnits;
    opening.replies = {Hash{static_cast<uint8_t>(++told_)}};
    ASSERT_TRUE(journal->Charge(opening).ok());
  }

  const Workplace w_;
  int replies_ = 0, told_ = 0;
};

TEST_F(KeyBoundTest, OpeningsEndAndRekeyGoesOn) {
  EXPECT_EQ(Decide().err, "");
  const auto budget = [&] {
    return Must(kHeft,
                {"budget", "--model", w_("model.heft"), "--secret-key", w_("keys/secret.key")});
  };
  EXPECT_EQ(budget()["most_key_bits"], kKeyBits);
  EXPECT_EQ(budget()["key_bits"], 1) << "a decision tells little";
  Tell(kKeyBits / 2);
  const Finished warned = Decide();
  EXPECT_EQ(warned.exit_code, 0) << warned.err;
  EXPECT_THAT(warned.err, HasSubstr("this key is used up by half"));
  EXPECT_THAT(warned.err, HasSubstr("heft rekey"));
  // A score reveals at most one bit, and less than one is left.
  Tell(kKeyBits - kKeyBits / 2 - 1);
  RaiseBudget(w_("model.heft"), w_("keys/secret.key"));
  const Finished score = Decide({"--scores", "--quiet"});
  EXPECT_EQ(score.exit_code, kBudget);
  EXPECT_EQ(score.out, "");
  EXPECT_THAT(score.err, HasSubstr("of its 6492 bits, and nothing more is opened under it"));
  Must(kHeft, {"rekey", "--model", w_("model.heft"), "--secret-key", w_("keys/secret.key"), "--out",
               w_("next")});
  const auto renewed =
      Must(kHeft, {"budget", "--model", w_("model.heft"), "--secret-key", w_("next/secret.key")});
  EXPECT_EQ(renewed["key_bits"], 0);
}

}  // namespace
}  // namespace heft::e2e
