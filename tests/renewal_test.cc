// SPDX-License-Identifier: Apache-2.0
// Renewal of a key with the real programs. Keys, gallery, samples and probes work on under the new
// key, and the old one is refused everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/encrypt_rows.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

class RenewalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "20", "--samples",
                 "3", "--dimensions", "16", "12"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft")));
  }

  std::string W(const std::string& path) const { return work_(path); }
  std::string Samples(const std::string& keys, const std::string& name,
                      const std::string& modality) const {
    return SamplesFile(work_, keys, name, modality);
  }
  void Encrypt(const std::string& keys, const std::string& name, const Args& more) const {
    EncryptRows(work_, keys, name, more);
  }
  std::string LabelOfRow(int row) const {
    std::istringstream lines(Slurp(W("data/labels.txt")));
    std::string label;
    for (int i = 0; i <= row; ++i) std::getline(lines, label);
    return label;
  }
  void EncryptProbe(const std::string& keys) const {
    Encrypt(keys, "probe", {"--row", "4", "--for", "identification"});
  }
  Args Serve(const std::string& subcommand, const std::string& keys, const std::string& samples,
             const Args& more = {}) const {
    Args args = {subcommand,
                 "--model",
                 W("model.heft"),
                 "--keys",
                 W(keys + "/evaluation.keys"),
                 "--gallery",
                 W("gallery"),
                 "--in",
                 Samples(keys, samples, "face"),
                 "--in",
                 Samples(keys, samples, "voice")};
    if (subcommand != "identify") {
      args.insert(args.end(), {"--enrolment-keys", W(keys + "/enrolment.keys")});
    }
    args.insert(args.end(), more.begin(), more.end());
    return WithRow(args);
  }
  void Answer(const std::string& subcommand, const std::string& keys, const std::string& samples,
              const std::string& out, const Args& more = {}) const {
    Args args = Serve(subcommand, keys, samples, {"--out", W(out)});
    args.insert(args.end(), more.begin(), more.end());
    Must(kServer, args);
    Believe(W(keys + "/trust.heft"), W("gallery"));
  }
  Args Decrypt(const std::string& keys, const std::string& scores, const Args& more = {}) const {
    Args args = {"decrypt", "--model", W("model.heft"), "--secret-key", W(keys + "/secret.key"),
                 "--in",    W(scores), "--quiet",       "--scores"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  std::map<std::string, double> Scores(const std::string& keys, const std::string& file,
                                       const Args& more = {}) const {
    Args args = Decrypt(keys, file, more);
    args.insert(args.end(), {"--top", "100", "--beyond-cap"});
    std::map<std::string, double> scores;
    const auto opened = Must(kHeft, args);
    for (const auto& c : opened["candidates"]) scores[c["identity"]] = c["score"];
    EXPECT_FALSE(scores.empty()) << opened;
    return scores;
  }
  Args Rekey(const std::string& out) const {
    return {"rekey", "--model", W("model.heft"), "--secret-key",          W("first/secret.key"),
            "--out", W(out),    "--quiet",       "--new-passphrase-file", W("passphrase")};
  }
  Args MoveGallery() const {
    return {"apply",     "--model",   W("model.heft"), "--in", W("second/rekeying.key"),
            "--gallery", W("gallery")};
  }
  // `program` refuses and changes nothing.
  void ExpectRefused(const char* program, const Args& args, const std::string& text) const {
    const auto files = Snapshot(work_.root());
    const Finished run = RunProgram(program, args);
    EXPECT_EQ(run.exit_code, kInput) << args[0];
    EXPECT_THAT(run.err, HasSubstr(text));
    EXPECT_EQ(Snapshot(work_.root()), files);
  }
  // Makes a gallery, a reply and a verification under key "first". Then renews the key into the
  // folder "second" and moves the gallery to it.
  void Renew() {
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("first")});
    RaiseBudget(W("model.heft"), W("first/secret.key"));
    Encrypt("first", "all", {});
    EncryptProbe("first");
    EnrolNow(Serve("enrol", "first", "all"), W("first/secret.key"));
    Answer("identify", "first", "probe", "before.ct");
    before_ = Scores("first", "before.ct");
    const auto old = Must(kHeft, {"inspect", W("first/secret.key")});
    Spill(W("passphrase"), "correct horse\n");
    const auto renewed = Must(kHeft, Rekey("second"));
    EXPECT_EQ(renewed["old_key_id"], old["key_id"]);
    EXPECT_TRUE(renewed.contains("enrolment_keys"));
    const auto moved = Must(kServer, MoveGallery());
    EXPECT_EQ(moved["revoked_key_id"], old["key_id"]);
    const auto gallery = Must(kServer, {"inspect", W("gallery")});
    EXPECT_EQ(gallery["key_id"], renewed["key_id"]);
    EXPECT_EQ(gallery["revoked_keys"], nlohmann::json::array({old["key_id"]}));
  }

  const Workplace work_;
  std::map<std::string, double> before_;
};

TEST_F(RenewalTest, TheNewKeyTakesOver) {
  Renew();
  // Scores agree, and their count moved too: one before, one now.
  const Args passphrase = {"--passphrase-file", W("passphrase")};
  EncryptProbe("second");
  Answer("identify", "second", "probe", "after.ct");
  const auto after = Scores("second", "after.ct", passphrase);
  ASSERT_EQ(after.size(), before_.size());
  for (const auto& [identity, score] : after) {
    EXPECT_NEAR(score, before_.at(identity), kScoreNoise + kRounding) << identity;
  }
  Args budget = {"budget", "--model", W("model.heft"), "--secret-key", W("second/secret.key")};
  budget.insert(budget.end(), passphrase.begin(), passphrase.end());
  EXPECT_EQ(Must(kHeft, budget)["scores"], 2);

  // Verifies a template that moved, then one that is enrolled now beside the moved ones.
  Encrypt("second", "claim", {"--row", "4"});
  const std::string identity = LabelOfRow(4);
  Answer("verify", "second", "claim", "claim.ct", {"--identity", identity});
  EXPECT_NEAR(Scores("second", "claim.ct", passphrase).at(identity), before_.at(identity),
              kScoreNoise + kRounding);
  const Args newcomer = Serve("enrol", "second", "claim", {"--identity", "newcomer"});
  Must(kServer, newcomer);
  ActivatePending(newcomer, W("second/secret.key"), passphrase);
  EXPECT_EQ(Must(kServer, {"inspect", W("gallery")})["templates"], 61);
  Answer("identify", "second", "probe", "more.ct");
  EXPECT_GT(Scores("second", "more.ct", passphrase).at("newcomer"), 0.9) << "the same sample";
}

TEST_F(RenewalTest, TheOldKeyIsRefused) {
  Renew();
  EncryptProbe("second");
  Answer("identify", "second", "probe", "after.ct");
  // Key owner, server and clients refuse the old key.
  ExpectRefused(kHeft, Decrypt("first", "before.ct"), "was revoked");
  ExpectRefused(kHeft, Decrypt("first", "after.ct"), "made for another");
  ExpectRefused(kServer, Serve("enrol", "first", "all"), "was revoked");
  ExpectRefused(kServer, Serve("identify", "first", "probe", {"--out", W("no.ct")}), "was revoked");
  ExpectRefused(kServer, Serve("verify", "first", "all", {"--identity", "1", "--out", W("no.ct")}),
                "was revoked");
  // A server with the new keys refuses samples under the old one.
  std::filesystem::copy(Samples("first", "all", "face"), Samples("second", "old", "face"));
  std::filesystem::copy(Samples("first", "all", "voice"), Samples("second", "old", "voice"));
  ExpectRefused(kServer, Serve("enrol", "second", "old"), "another key");
  ExpectRefused(kServer, MoveGallery(), "has moved to key");
  // The old keys of one ring beside the new keys of the other.
  Args mixed = Serve("enrol", "second", "old");
  mixed.insert(mixed.end(), {"--enrolment-keys", W("first/enrolment.keys")});
  std::erase(mixed, W("second/enrolment.keys"));
  mixed.erase(std::ranges::find(mixed, "--enrolment-keys"));
  ExpectRefused(kServer, mixed, "which the trust file revokes");
  // A renewed key cannot be renewed again, and no folder is overwritten.
  ExpectRefused(kHeft, Rekey("third"), "was revoked");
  ExpectRefused(kHeft, Rekey("second"), "never overwritten");
}

}  // namespace
}  // namespace heft::e2e
