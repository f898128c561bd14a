// SPDX-License-Identifier: Apache-2.0
// Checks of the server, through its programs with default flags: states that the key owner signed,
// replies that are recomputed, and how each attack is stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/envelope.h"
#include "base/files.h"
#include "heft/trust.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

// owner/: model, keys; server/gallery: 20 activated people; client/face.ct: their faces again.
class CheckingTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "20", "--samples",
                 "3", "--dimensions", "24", "16"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft")));
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("keys")});
    RaiseBudget(W("model.heft"), W("keys/secret.key"));
    const Dataset data = *LoadDataset(W("data"));
    for (const char* name : {"face", "others"}) {
      std::vector<int> rows;
      for (int i = name == std::string("face") ? 0 : 1; i < 60; i += 3) rows.push_back(i);
      const std::string npy = W(std::string(name) + ".npy");
      WriteRows(data, "face", rows, npy, npy + ".labels");
      // Each further sample has a name of its own, since this test has no registrar.
      std::string names;
      for (size_t i = 0; i < rows.size(); ++i) names += "other " + std::to_string(i) + "\n";
      if (name == std::string("others")) Spill(npy + ".labels", names);
      EncryptBoth({"encrypt", "--model", W("model.heft"), "--key", W("keys/encryption.key"),
                   "--modality", "face", "--in", npy, "--labels", npy + ".labels", "--out",
                   W(std::string(name) + ".ct")});
    }
    known_ = data.labels[12];  // in row 4
    Enrol("gallery", "face.ct");
    Copy("gallery", "unsigned");
    SignState("gallery");
    Must(kServer, Identify("gallery", "scores.ct"));
    Must(kServer, Reveal("scores.ct"));
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static void Copy(const std::string& from, const std::string& to) {
    std::filesystem::copy(W(from), W(to), std::filesystem::copy_options::recursive);
  }
  static Args Join(Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static Args Serve(const std::string& subcommand, const std::string& gallery, const Args& more) {
    return Join({subcommand, "--model", W("model.heft"), "--keys", W("keys/evaluation.keys"),
                 "--gallery", W(gallery)},
                more);
  }
  static Args Identify(const std::string& gallery, const std::string& out) {
    return WithProbes(
        Serve("identify", gallery, {"--in", W("face.ct"), "--row", "4", "--out", W(out)}));
  }
  static Args Verify(const std::string& name, const std::string& out) {
    return Serve("verify", "gallery",
                 {"--in", W("face.ct"), "--row", "4", "--identity", name, "--out", W(out)});
  }
  static Args Reveal(const std::string& reply) {
    return {"reveal", "--gallery", W("gallery"), "--in", W(reply), "--out", W(reply + ".seed")};
  }
  // Of a reply to Identify; `request`: of another one.
  static Args Audit(const std::string& copy, const std::string& reply, const std::string& seed,
                    const std::string& request = ProbeOf("face.ct")) {
    return Serve("audit", copy, {"--reply", W(reply), "--seed", W(seed), "--request", W(request)});
  }
  static Args Decrypt(const std::string& reply, const Args& more = {}) {
    return Join({"decrypt", "--model", W("model.heft"), "--secret-key", W("keys/secret.key"),
                 "--in", W(reply), "--scores"},
                more);
  }
  static Args Decide(const std::string& reply, const Args& rule) {
    return Join({"decrypt", "--model", W("model.heft"), "--secret-key", W("keys/secret.key"),
                 "--in", W(reply)},
                rule);
  }
  // Activates pending templates. If none is pending, signs the gallery's state.
  static void SignState(const std::string& gallery) {
    Must(kServer, Serve("pending", gallery, {"--out", W("pending.ct")}));
    Must(kHeft, {"answer", "--model", W("model.heft"), "--secret-key", W("keys/secret.key"), "--in",
                 W("pending.ct"), "--out", W("admission.heft")});
    Must(kServer, Serve("apply", gallery, {"--in", W("admission.heft")}));
  }
  static void Enrol(const std::string& gallery, const std::string& samples) {
    Must(kServer, Serve("enrol", gallery, {"--in", W(samples)}));
    Believe(W("keys/trust.heft"), W(gallery));
    SignState(gallery);
  }
  static void ExpectRight(const Args& audit) {
    const auto done = Must(kServer, audit);
    EXPECT_EQ(done["wrong"], 0) << done;
    EXPECT_EQ(done["findings"].size(), 2u) << "the gallery and the reply";
  }
  static void ExpectWrong(const Args& audit, const std::string& why) {
    const Finished run = RunProgram(kServer, audit);
    EXPECT_EQ(run.exit_code, kFinding) << run.err;
    EXPECT_THAT(run.out, HasSubstr(why));
  }
  static void Refused(const Args& args, const std::string& why) {
    const Finished run = RunProgram(ServersCommand(args) ? kServer : kHeft, args);
    EXPECT_EQ(run.exit_code, kInput) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr(why));
  }
  // Puts a block of one gallery in another's place, in the files of their stores.
  static void SwapBlock(const std::string& from, const std::string& to) {
    // A header, then gamma ciphertexts of two polynomials with two limbs of 4096 residues.
    constexpr size_t kSize = 112 + 16 * 2 * 2 * 4096 * sizeof(uint32_t);
    const std::string theirs = Slurp(W(from + "/store.blocks"));
    std::string store = Slurp(W(to + "/store.blocks"));
    const size_t block = theirs.find("HGBK");
    ASSERT_NE(block, theirs.npos);
    int swapped = 0;  // the replaced block is still there, too
    for (size_t at = store.find("HGBK"); at != store.npos; at = store.find("HGBK", at + kSize)) {
      store.replace(at, kSize, theirs, block, kSize);
      ++swapped;
    }
    ASSERT_GT(swapped, 0);
    Spill(W(to + "/store.blocks"), store);
  }

  inline static Workplace* work_ = nullptr;
  inline static std::string known_;
};

TEST_F(CheckingTest, HonestRepliesAreRight) {
  ExpectRight(Audit("gallery", "scores.ct", "scores.ct.seed"));
  for (const std::string& name : {known_, std::string("nobody")}) {
    const std::string reply = "claim-" + name;
    Must(kServer, Verify(name, reply));
    Must(kServer, Reveal(reply));
    ExpectRight(Audit("gallery", reply, reply + ".seed", "face.ct"));
  }
  Must(kHeft, Decrypt("scores.ct", {"--signed-gallery"}));
}

// A reply under conditions says which conditions applied and which templates answered. The audit
// recomputes this too.
TEST_F(CheckingTest, HonestRepliesUnderConditionsAreRight) {
  Must(kServer, Serve("enrol", "sites", {"--in", W("others.ct"), "--metadata", "site=paris"}));
  Must(kServer, Serve("enrol", "sites", {"--in", W("face.ct"), "--metadata", "site=berlin"}));
  Believe(W("keys/trust.heft"), W("sites"));
  SignState("sites");
  SignState("sites");  // signs that the templates are in it
  const Args where = {"--where", "site=berlin"};
  Must(kServer, Join(Identify("sites", "berlin.ct"), where));
  Must(kServer,
       {"reveal", "--gallery", W("sites"), "--in", W("berlin.ct"), "--out", W("berlin.ct.seed")});
  const Args audit = Audit("sites", "berlin.ct", "berlin.ct.seed");
  ExpectRight(audit);
  const auto opened = Must(kHeft, Decrypt("berlin.ct", {"--top", "10"}));
  ASSERT_EQ(opened["candidates"].size(), 10u);
  EXPECT_EQ(opened["candidates"][0]["identity"], known_);
  EXPECT_EQ(opened["candidates"].dump().find("other "), std::string::npos) << "of another site";
  // Nor does it pass for a reply of all templates.
  Must(kServer, Identify("sites", "all.ct"));
  Must(kServer,
       {"reveal", "--gallery", W("sites"), "--in", W("all.ct"), "--out", W("all.ct.seed")});
  ExpectRight(Audit("sites", "all.ct", "all.ct.seed"));
  ExpectWrong(Audit("sites", "berlin.ct", "all.ct.seed"), "not the one that the reply commits to");
}

// A client's condition that leaves one person is in effect a claim, and is judged as one.
TEST_F(CheckingTest, AConditionThatLeavesOnePersonIsAClaim) {
  Must(kHeft, {"encrypt", "--model", W("model.heft"), "--key", W("keys/encryption.key"),
               "--modality", "face", "--in", W("face.npy"), "--row", "4", "--label", "one of rome",
               "--out", W("alone.ct")});
  Must(kServer, Serve("enrol", "cities", {"--in", W("others.ct"), "--metadata", "site=paris"}));
  Must(kServer, Serve("enrol", "cities", {"--in", W("alone.ct"), "--metadata", "site=rome"}));
  Believe(W("keys/trust.heft"), W("cities"));
  SignState("cities");
  const auto search = [](const std::string& site, const std::string& out) {
    Must(kServer, Join(Identify("cities", out), {"--where", "site=" + site}));
    return out;
  };
  const std::string rome = search("rome", "rome.ct");
  Refused(Decide(rome, {"--fpir", "0.1"}), "fewer than 10 people");
  const auto alone = Must(kHeft, Decide(rome, {"--fpir", "0.1", "--fmr", "0.1"}));
  const Model model = ReadModel(W("model.heft"));
  constexpr uint32_t kFace = 1;  // the probe has no other modality
  const auto searched = [&](uint64_t people) {
    return model.ThresholdForSearch(0.1, people, 1, kFace)->score;
  };
  EXPECT_EQ(alone["threshold"]["score"],
            std::max(model.ThresholdFor(0.1, kFace)->score, searched(1)));
  const auto many = Must(kHeft, Decide(search("paris", "paris.ct"), {"--fpir", "0.1"}));
  EXPECT_EQ(many["threshold"]["score"], searched(20));
}

TEST_F(CheckingTest, OneInSoManyIsChosen) {
  Args choose = {"audit", "--one-in", "3"};
  for (const char* reply : {"a", "b", "c", "d"}) choose = Join(choose, {"--reply", reply});
  EXPECT_EQ(Must(kServer, choose)["chosen"].size(), 2u);
}

TEST_F(CheckingTest, AnotherSeed) {
  Must(kServer, Identify("gallery", "second.ct"));
  Must(kServer, Reveal("second.ct"));
  ExpectWrong(Audit("gallery", "scores.ct", "second.ct.seed"),
              "not the one that the reply commits to");
}

TEST_F(CheckingTest, ASwappedBlock) {
  Copy("gallery", "swapped");
  Enrol("others", "others.ct");
  SwapBlock("others", "swapped");
  ExpectWrong(Serve("audit", "swapped", {}), "exchanged");
  Refused(Identify("swapped", "none.ct"), "exchanged");
}

// The reply is signed with the server's own key: the server itself lies.
TEST_F(CheckingTest, AnAlteredReply) {
  const auto whole = ReadFile(W("scores.ct"));
  ASSERT_TRUE(whole.ok());
  const SignedFile good = *ReadSigned(*whole, "reply");
  std::vector<uint8_t> reply(good.file.begin(), good.file.end());
  reply[reply.size() - 800] ^= 1;  // the end of the scores, before the origin and the journal head
  const ByteSpan payload =
      ByteSpan(reply).subspan(kEnvelopeHeaderSize, reply.size() - kEnvelopeOverhead);
  const auto key = SigningKey::Load(W("gallery/server.key"));
  ASSERT_TRUE(key.ok());
  const auto lie = key->Sign(good.statement, SealEnvelope("SCOR", EnvelopeVersion(reply), payload));
  ASSERT_TRUE(WriteFile(W("lie.ct"), *lie).ok());
  ExpectWrong(Audit("gallery", "lie.ct", "scores.ct.seed"), "its scores of block 0");
}

TEST_F(CheckingTest, AStateThatNobodyHasSigned) {
  ExpectWrong(Serve("audit", "unsigned", {}), "it is not signed yet");
  Copy("gallery", "stateless");
  std::filesystem::remove(W("stateless/state.heft"));
  ExpectWrong(Serve("audit", "stateless", {}), "has not signed a state");
}

// Once canaries are required, default flags refuse any gallery without them.
TEST_F(CheckingTest, Canaries) {
  const auto made = Must(kHeft, {"canary", "--model", W("model.heft"), "--secret-key",
                                 W("keys/secret.key"), "--out", W("canaries")});
  ASSERT_EQ(made["people"].size(), 9u);
  auto both = [](const std::string& name) {
    const std::string stem = W("canaries/" + name);
    return Args{"--in", stem + "-face.ct", "--in", stem + "-voice.ct"};
  };
  Copy("gallery", "watched");
  for (const auto& person : made["people"]) {
    Must(kServer, Serve("enrol", "watched", both(person["files"])));
  }
  SignState("watched");
  Must(kHeft, {"canary", "--model", W("model.heft"), "--secret-key", W("keys/secret.key"),
               "--require", W("canaries/canaries.heft")});
  Must(kServer, Identify("watched", "watched.ct"));
  const auto good = Must(kHeft, Decrypt("watched.ct", {"--top", "10"}));
  EXPECT_EQ(good["refusal"], "") << good;
  EXPECT_EQ(good["candidates"][0]["identity"], known_);
  const std::string names = made["people"].dump();
  for (const auto& candidate : good["candidates"]) {
    EXPECT_EQ(names.find(candidate["identity"].dump()), names.npos) << "a canary is shown";
  }
  // The answers of the canaries are known, and none matches a person.
  Must(kServer, Serve("identify", "watched", Join({"--out", W("known.ct")}, both("probe-1"))));
  EXPECT_EQ(Must(kHeft, Decrypt("known.ct"))["refusal"], "");
  // Attack: a trusted server uses the gallery without canaries.
  Enrol("elsewhere", "others.ct");
  Must(kServer, Identify("elsewhere", "elsewhere.ct"));
  const auto bad = Must(kHeft, Decrypt("elsewhere.ct"));
  EXPECT_THAT(bad["refusal"].get<std::string>(), HasSubstr("canary is missing"));
  EXPECT_EQ(bad["candidates"].size(), 0u);
  std::filesystem::remove(W("keys/secret.key.canaries"));  // for the other tests
}

// Runs after all other tests, because the gallery goes on.
TEST_F(CheckingTest, ZAnOlderGallery) {
  Copy("gallery", "older");
  Enrol("gallery", "others.ct");
  SignState("gallery");
  Refused(Audit("gallery", "scores.ct", "scores.ct.seed"), "copy of that time");
  ExpectRight(Audit("older", "scores.ct", "scores.ct.seed"));
  Must(kServer, Identify("older", "old.ct"));
  Refused(Decrypt("old.ct"), "older state");
  Must(kServer, Identify("gallery", "new.ct"));
  Must(kHeft, Decrypt("new.ct", {"--signed-gallery"}));
}

}  // namespace
}  // namespace heft::e2e
