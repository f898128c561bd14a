// SPDX-License-Identifier: Apache-2.0
// A gallery's life with the real programs: heft-server gallery.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/files.h"
#include "base/testing.h"
#include "features/dataset.h"
#include "heft/gallery.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

constexpr int kSamplesEach = 2;  // of each identity, side by side

class GalleryCommandsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "12", "--samples",
                 std::to_string(kSamplesEach), "--dimensions", "16", "12"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft"), {"--profile", "standard"}));
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W(keys_), "--no-passphrase"});
    RaiseBudget(W("model.heft"), W(keys_ + "/secret.key"));
    data_ = new Dataset(*LoadDataset(W("data")));
  }
  static void TearDownTestSuite() {
    delete data_;
    delete work_;
  }
  void TearDown() override {
    keys_ = "keys";
    registrar_.clear();
  }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static Args WithKeys(const std::string& gallery) {
    return {"--model",   W("model.heft"), "--keys",  W(keys_ + "/evaluation.keys"),
            "--gallery", W(gallery),      "--trust", W(keys_ + "/trust.heft")};
  }
  // heft-server gallery COMMAND, with the server's keys.
  static Args Command(const std::string& command, const std::string& gallery,
                      const Args& more = {}) {
    return Join(Join({"gallery", command}, WithKeys(gallery)), more);
  }
  static Args Plain(const std::string& command, const std::string& gallery, const Args& more = {}) {
    return Join({"gallery", command, "--gallery", W(gallery)}, more);
  }
  // Client: one row in both modalities.
  static Args Encrypt(const std::string& name, int row, const Args& more = {}) {
    Args inputs;
    for (const char* modality : {"face", "voice"}) {
      const std::string npy = W(name + "-" + modality + ".npy");
      std::string out = W(name + "-" + modality + ".ct");
      WriteRows(*data_, modality, {row}, npy, npy + ".labels");
      Must(kHeft,
           Join({"encrypt", "--model", W("model.heft"), "--key", W(keys_ + "/encryption.key"),
                 "--modality", modality, "--in", npy, "--labels", npy + ".labels", "--out", out},
                more));
      if (!registrar_.empty()) {
        Must(kHeft, {"trust", "sign", "--key", registrar_, "--role", "registrar", "--valid-for",
                     "3600", "--in", out, "--out", out + ".signed"});
        out += ".signed";
      }
      inputs.insert(inputs.end(), {"--in", out});
    }
    return inputs;
  }
  static Args AddArgs(const std::string& gallery, const std::string& name, int row,
                      const Args& more = {}) {
    return Join(Join(Join(Join({"enrol"}, WithKeys(gallery)), Encrypt(name, row)),
                     {"--identity", name, "--enrolment-keys", W(keys_ + "/enrolment.keys")}),
                more);
  }
  // MakeRegistry: new keys, whose trust file has a registrar: registrar_.
  static void MakeRegistry(const std::string& keys) {
    keys_ = keys;
    registrar_ = W(keys + "-registrar.key");
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W(keys_), "--no-passphrase"});
    Must(kHeft, {"trust", "new-key", "--out", registrar_});
    Must(kHeft, {"trust", "add", "--trust", W(keys_ + "/trust.heft"), "--role", "registrar",
                 "--key", W(keys + "-registrar.pub"), "--name", "registry"});
  }
  // Enrols one person, and activates the template.
  static void Enrol(const std::string& gallery, const std::string& name, int row,
                    const Args& more = {}) {
    EnrolNow(AddArgs(gallery, name, row, more), W(keys_ + "/secret.key"));
  }
  static std::multiset<std::string> Names(const std::string& gallery, const Args& more = {}) {
    const json listed = Must(kServer, Plain("list", gallery, more));
    std::multiset<std::string> names;
    for (const auto& t : listed["templates"]) {
      if (t["state"] != "pending") names.insert(t["identity"].get<std::string>());
    }
    return names;
  }
  // The names that a probe of this row finds, without a threshold.
  static std::multiset<std::string> Found(const std::string& gallery, int row,
                                          const Args& more = {}) {
    const Args probe = Encrypt("probe", row, {"--for", "identification"});
    const std::string scores = W("scores.ct");
    Believe(W(keys_ + "/trust.heft"), W(gallery));
    Must(kServer,
         Join(Join(Join({"identify"}, WithKeys(gallery)), probe), Join({"--out", scores}, more)));
    Args decrypt = {"decrypt", "--model", W("model.heft"), "--secret-key", W(keys_ + "/secret.key"),
                    "--in",    scores,    "--scores"};
    for (size_t i = 1; i < probe.size(); i += 2)
      decrypt.insert(decrypt.end(), {"--request", probe[i]});
    std::multiset<std::string> names;
    const json opened = Must(kHeft, decrypt);
    for (const auto& c : opened["candidates"]) {
      names.insert(c["identity"].get<std::string>());
    }
    return names;
  }
  static uint64_t Generation(const std::string& gallery) {
    return Must(kServer, Plain("stats", gallery))["generation"];
  }

  // The key owner's folder, and the registrar's key in tests where it signs.
  inline static std::string keys_ = "keys", registrar_;
  inline static Workplace* work_ = nullptr;
  inline static Dataset* data_ = nullptr;
};

TEST_F(GalleryCommandsTest, PeopleComeAndGo) {
  Must(kServer, Command("create", "life"));
  EXPECT_EQ(RunProgram(kServer, Command("create", "life")).exit_code, kInput);
  EXPECT_EQ(Must(kServer, Plain("stats", "life"))["templates"], 0);
  const Args ann =
      AddArgs("life", "ann", 0, {"--metadata", "site=berlin", "--idempotency-key", "one"});
  EXPECT_EQ(Must(kServer, ann)["repeated"], false);
  EXPECT_EQ(Must(kServer, ann)["repeated"], true);
  const json listed = Must(kServer, Plain("list", "life"))["templates"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["identity"], "ann");
  EXPECT_EQ(listed[0]["state"], "pending");
  const auto shown = [] { return RunProgram(kServer, Plain("list", "life")).out; };
  EXPECT_THAT(shown(), ::testing::StartsWith("identity  "));
  EXPECT_THAT(shown(), ::testing::ContainsRegex("\nann +- +pending +- +-"));
  ActivatePending(ann, W(keys_ + "/secret.key"));
  EXPECT_THAT(shown(),
              ::testing::ContainsRegex("\nann +20[0-9T:-]+Z +active +never +0 +site=berlin\n"));
  Enrol("life", "bob", 2, {"--metadata", "site=paris"});
  const uint64_t before = Generation("life");
  Enrol("life", "carl", 4);

  EXPECT_THAT(Names("life"), UnorderedElementsAre("ann", "bob", "carl"));
  EXPECT_THAT(Names("life", {"--where", "site=berlin"}), ElementsAre("ann"));
  const json page = Must(kServer, Plain("list", "life", {"--count", "2"}));
  EXPECT_EQ(page["templates"].size(), 2u);
  const json rest =
      Must(kServer, Plain("list", "life", {"--from", std::to_string(page["next"].get<int>())}));
  EXPECT_EQ(rest["templates"].size(), 1u);
  EXPECT_TRUE(rest["next"].is_null());
  EXPECT_THAT(Found("life", 1, {"--where", "site=berlin"}), ElementsAre("ann"));

  const json stats = Must(kServer, Plain("stats", "life", {"--model", W("model.heft")}));
  EXPECT_EQ(stats["templates"], 3);
  EXPECT_EQ(stats["journal_entries"], 3);
  EXPECT_TRUE(stats["verified"].is_null());
  EXPECT_GT(stats["noise_margin"], 0.0);
  EXPECT_LE(stats["noise_margin"], 1.0);
  EXPECT_GE(stats["store_bytes"], stats["store_live_bytes"]);

  const json back =
      Must(kServer, Command("remove", "life", {"--generation", std::to_string(before)}));
  EXPECT_EQ(back["erased"], 1);
  EXPECT_EQ(back["leaving"], 0);
  EXPECT_THAT(Names("life"), UnorderedElementsAre("ann", "bob"));
  const json gone =
      Must(kServer, Command("remove", "life", {"--identity", "bob", "--receipts", W("receipts")}));
  EXPECT_EQ(gone["erased"], 1);
  ASSERT_EQ(gone["files"].size(), 1u);
  EXPECT_FALSE(Slurp(gone["files"][0]).empty());
  EXPECT_THAT(Found("life", 1), ElementsAre("ann"));
  const json receipts = Must(kServer, Plain("list", "life", {"--erased"}));
  ASSERT_EQ(receipts["receipts"].size(), 2u);
  EXPECT_EQ(receipts["receipts"][1]["persons"], gone["persons"]);
  EXPECT_EQ(RunProgram(kServer, Command("remove", "life", {"--identity", "bob"})).exit_code,
            kInput);
}

// The admission is committed, so a later failure is no error of it, and the command can be
// repeated.
TEST_F(GalleryCommandsTest, WhatIsCommittedIsNoError) {
  Must(kServer, Command("create", "told"));
  Must(kServer, AddArgs("told", "ann", 0));
  Must(kServer, Join(Join({"pending"}, WithKeys("told")), {"--out", W("told.pending")}));
  Believe(W(keys_ + "/trust.heft"), W("told"));
  Must(kHeft,
       {"answer", "--model", W("model.heft"), "--secret-key", W(keys_ + "/secret.key"), "--in",
        W("told.pending"), "--out", W("told.admission"), "--trust", W(keys_ + "/trust.heft")});
  const Args release =
      Join(Join({"apply", "--json"}, WithKeys("told")),
           {"--in", W("told.admission"), "--enrolment-keys", W(keys_ + "/enrolment.keys")});
  const Finished receipts = RunProgram(kServer, Join(release, {"--receipts", W("told.receipts")}));
  EXPECT_EQ(receipts.exit_code, kInput);
  EXPECT_THAT(receipts.err, HasSubstr("told.admission: admission: leave out --receipts"));
  EXPECT_FALSE(fs::exists(W("told.receipts")));
  EXPECT_EQ(Must(kServer, Plain("stats", "told"))["pending"], 1) << "nothing is activated";
  fs::create_directories(W("told/state.heft/in the way"));
  const Finished done = RunProgram(kServer, release);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("the admission is committed, but"));
  EXPECT_EQ(json::parse(done.out)["activated"], 1);
  EXPECT_EQ(json::parse(done.out)["kept"], false);
  EXPECT_THAT(Names("told"), ElementsAre("ann"));
  fs::remove_all(W("told/state.heft"));
  const json again = Must(kServer, release);
  EXPECT_EQ(again["activated"], 0);
  EXPECT_EQ(again["kept"], true);
}

TEST_F(GalleryCommandsTest, PendingEnrolmentsAreRejectedByEntry) {
  Must(kServer, Command("create", "entries"));
  Must(kServer, AddArgs("entries", "ann", 0));
  Must(kServer, AddArgs("entries", "bob", 2));
  const json pending =
      Must(kServer, Join(Join({"pending"}, WithKeys("entries")), {"--out", W("entries.pending")}));
  EXPECT_EQ(pending["damaged"].size(), 0u);
  ASSERT_EQ(pending["pending"].size(), 2u);
  const std::string entry = pending["pending"][0]["entry"];
  const std::string name = pending["pending"][0]["identities"][0];
  const json gone = Must(kServer, Command("remove", "entries", {"--entry", entry}));
  EXPECT_EQ(gone["rejected"], 1);
  EXPECT_EQ(gone["overwritten"], true);
  EXPECT_EQ(RunProgram(kServer, Command("remove", "entries", {"--entry", entry})).exit_code,
            kInput);
  EXPECT_EQ(Must(kServer, Plain("stats", "entries"))["pending"], 1);
}

// A key that was used is not replaced by another one that has no trust.
TEST_F(GalleryCommandsTest, LostKeysAreAnError) {
  Must(kServer, Command("create", "keyless"));
  Must(kServer, AddArgs("keyless", "ann", 0));
  const Args pending =
      Join(Join({"pending"}, WithKeys("keyless")), {"--out", W("keyless.pending")});
  fs::rename(W("keyless/server.key"), W("kept.key"));
  const Finished lost = RunProgram(kServer, pending);
  EXPECT_EQ(lost.exit_code, kInput);
  EXPECT_THAT(lost.err, HasSubstr("server.key: this key of the server is missing: restore it"));
  EXPECT_FALSE(FileExists(W("keyless/server.key")));
  fs::rename(W("kept.key"), W("keyless/server.key"));
  Must(kServer, pending);
}

TEST_F(GalleryCommandsTest, WhoIsInNoJournalGoesWithTheKeyOwner) {
  Must(kServer, Command("create", "owner", {"--retention", "0"}));
  Enrol("owner", "ann", 0);
  Enrol("owner", "bob", 2);
  Must(kServer, Command("compact", "owner"));
  const json removed = Must(kServer, Command("remove", "owner", {"--identity", "ann"}));
  EXPECT_EQ(removed["leaving"], 1) << removed;
  EXPECT_EQ(removed["receipts"].size(), 0u);
  EXPECT_THAT(Found("owner", 1), ElementsAre("bob"));
  EXPECT_EQ(Must(kServer, Command("compact", "owner"))["leaving"], 1);

  Must(kServer, Command("renew", "owner", {"--out", W("request.heft")}));
  const Args answer = {
      "answer", "--model",         W("model.heft"), "--secret-key",   W(keys_ + "/secret.key"),
      "--in",   W("request.heft"), "--out",         W("renewal.heft")};
  for (const Args& option : std::vector<Args>{{"--only", "bob"},
                                              {"--reject", "bob"},
                                              {"--entry", std::string(64, '0')},
                                              {"--accept-older"},
                                              {"--shards", W("shards.json")}}) {
    const Finished refused = RunProgram(kHeft, Join(answer, option));
    EXPECT_EQ(refused.exit_code, kInput) << option[0];
    EXPECT_THAT(refused.err, HasSubstr("takes no option for pending templates")) << option[0];
    EXPECT_FALSE(fs::exists(W("renewal.heft"))) << option[0];
  }
  for (const Args& option : std::vector<Args>{{"--owners", "1"}, {"--part", W("request.heft")}}) {
    const Finished refused = RunProgram(kHeft, Join(answer, option));
    EXPECT_EQ(refused.exit_code, kInput) << option[0];
    EXPECT_THAT(refused.err, HasSubstr("whole key")) << option[0];
  }
  Must(kHeft, answer);
  const json done = Must(kServer, Join(Join({"apply"}, WithKeys("owner")),
                                       {"--in", W("renewal.heft"), "--receipts", W("renewed")}));
  EXPECT_EQ(done["erased"], 1);
  EXPECT_EQ(done["leaving"], 0);
  EXPECT_EQ(done["receipts"].size(), 1u);
  ASSERT_EQ(done["files"].size(), 1u) << done;
  EXPECT_TRUE(FileExists(done["files"][0]));
  EXPECT_THAT(Found("owner", 3), ElementsAre("bob"));
  // A renewal can be finished only once.
  const Finished again =
      RunProgram(kServer, Join(Join({"apply"}, WithKeys("owner")), {"--in", W("renewal.heft")}));
  EXPECT_EQ(again.exit_code, kInput);
  EXPECT_THAT(again.err, HasSubstr("no open renewal"));
  EXPECT_EQ(RunProgram(kServer, Command("renew", "owner", {"--out", W("none")})).exit_code, kInput);
}

// Its folder and the journal's second place are put back together, to before bob's admission.
TEST_F(GalleryCommandsTest, AKeyOwnerThatWasPutBackRenewsNothing) {
  keys_ = "restored";
  const std::string state = std::getenv("HEFT_STATE_DIR");
  setenv("HEFT_STATE_DIR", W("restored-state").c_str(), 1);
  const auto copy = [](const std::string& from, const std::string& to) {
    fs::remove_all(W(to));
    fs::copy(W(from), W(to), fs::copy_options::recursive);
  };
  Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W(keys_), "--no-passphrase"});
  Must(kServer, Command("create", "witness", {"--retention", "0"}));
  Enrol("witness", "ann", 0);
  copy(keys_, "older-keys");
  copy("restored-state", "older-state");
  Enrol("witness", "bob", 2);
  copy(keys_, "newest-keys");
  copy("restored-state", "newest-state");
  Must(kServer, Command("compact", "witness"));
  ASSERT_EQ(Must(kServer, Command("remove", "witness", {"--identity", "ann"}))["leaving"], 1);
  Must(kServer, Command("renew", "witness", {"--out", W("asked.heft")}));
  const Args renew = {
      "answer", "--model",       W("model.heft"), "--secret-key",  W(keys_ + "/secret.key"),
      "--in",   W("asked.heft"), "--out",         W("answer.heft")};
  copy("older-keys", keys_);
  copy("older-state", "restored-state");
  const Finished refused = RunProgram(kHeft, renew);
  EXPECT_EQ(refused.exit_code, kInput);
  EXPECT_THAT(refused.err, HasSubstr("put back to an older state"));
  EXPECT_THAT(refused.err, HasSubstr("heft budget --restart"));
  EXPECT_FALSE(FileExists(W("answer.heft")));
  copy("newest-keys", keys_);
  copy("newest-state", "restored-state");
  Must(kHeft, renew);
  const json done =
      Must(kServer, Join(Join({"apply"}, WithKeys("witness")), {"--in", W("answer.heft")}));
  EXPECT_EQ(done["erased"], 1);
  setenv("HEFT_STATE_DIR", state.c_str(), 1);
}

TEST_F(GalleryCommandsTest, WhereThereIsARegistrarHeSaysWhoGoes) {
  MakeRegistry("registry");
  Enrol("registered", "ann", 0);
  const std::string id = Must(kServer, Plain("stats", "registered"))["gallery_id"];
  const auto allow = [&](const std::string& act) {
    const std::string out = W(act + ".auth");
    Must(kHeft, {"authorise", "--key", registrar_, "--gallery-id", id, "--identity", "ann", "--act",
                 act, "--out", out});
    return out;
  };
  const auto person = [] {
    return Must(kServer, Plain("list", "registered"))["templates"][0]["person"].get<std::string>();
  };
  const Finished refused = RunProgram(kServer, AddArgs("registered", "ann", 1));
  EXPECT_EQ(refused.exit_code, kInput);
  EXPECT_THAT(refused.err, HasSubstr("registrar"));

  const std::string before = person();
  Enrol("registered", "ann", 1, {"--authorisation", allow("replace")});
  EXPECT_THAT(Names("registered"), ElementsAre("ann")) << "one template";
  const json receipts = Must(kServer, Plain("list", "registered", {"--erased"}))["receipts"];
  ASSERT_EQ(receipts.size(), 1u);
  EXPECT_THAT(receipts[0]["persons"], ElementsAre(before));

  const Args remove = Command("remove", "registered", {"--identity", "ann"});
  EXPECT_EQ(RunProgram(kServer, remove).exit_code, kInput);
  const Finished other = RunProgram(kServer, Join(remove, {"--authorisation", W("replace.auth")}));
  EXPECT_EQ(other.exit_code, kInput);
  EXPECT_EQ(Must(kServer, Join(remove, {"--authorisation", allow("remove")}))["erased"], 1);
  EXPECT_TRUE(Names("registered").empty());
}

TEST_F(GalleryCommandsTest, DamageIsNamed) {
  Enrol("sound", "ann", 0);
  const json found =
      Must(kServer, Plain("stats", "sound", {"--verify", "--model", W("model.heft")}));
  EXPECT_EQ(found["intact"], true);
  EXPECT_EQ(Must(kServer, Plain("stats", "sound"))["intact"], true);
  Must(kServer, Plain("snapshot", "sound", {"--out", W("flipped")}));
  const std::string store = W("flipped/store.blocks"), good = Slurp(store);
  bool named = false;
  for (size_t part = 1; part < 16 && !named; ++part) {
    std::string bad = good;
    bad[good.size() / 16 * part] ^= 1;
    Spill(store, bad);
    const Finished run = RunProgram(kServer, Plain("stats", "flipped", {"--verify", "--json"}));
    ASSERT_THAT(run.exit_code, ::testing::AnyOf(0, kInput)) << run.err;
    if (run.exit_code == 0) continue;  // where nothing is
    const json says = json::parse(run.out, nullptr, false);
    if (says.is_discarded() || says["damaged"].empty()) continue;  // no block
    EXPECT_EQ(says["damaged"], json::array({0}));
    EXPECT_THAT(run.err, HasSubstr("blocks 0"));
    EXPECT_EQ(Must(kServer, Plain("stats", "flipped"))["intact"], false);
    named = true;
  }
  EXPECT_TRUE(named);
}

TEST_F(GalleryCommandsTest, ErasureGoesBeforeRestore) {
  Enrol("kept", "ann", 0);
  Enrol("kept", "bob", 2);
  Must(kServer, AddArgs("kept", "dora", 6));  // waits
  Must(kServer, Plain("snapshot", "kept", {"--out", W("monday")}));
  EXPECT_FALSE(fs::exists(W("monday/server.key")));
  const json gone =
      Must(kServer, Command("remove", "kept", {"--identity", "ann", "--receipts", W("proof")}));
  const uint64_t newest = Generation("kept");

  const Args plain = Plain("restore", "kept", {"--from", W("monday")});
  const std::string before = SlurpStore(W("kept"));
  const Finished refused = RunProgram(kServer, plain);
  EXPECT_EQ(refused.exit_code, kInput);
  EXPECT_THAT(refused.err, HasSubstr("--accept-older"));
  const Finished keyless = RunProgram(kServer, Join(plain, {"--accept-older"}));
  EXPECT_EQ(keyless.exit_code, kInput);
  EXPECT_THAT(keyless.err, HasSubstr("must be removed again"));
  EXPECT_EQ(SlurpStore(W("kept")), before);
  EXPECT_THAT(Names("kept"), ElementsAre("bob"));

  const Args accept = {"--from", W("monday"), "--accept-older"};
  const json done = Must(kServer, Command("restore", "kept", accept));
  EXPECT_EQ(done["older"], true);
  EXPECT_EQ(done["erased"], 1);
  EXPECT_EQ(done["rejected"], 1);
  EXPECT_THAT(Names("kept"), ElementsAre("bob"));
  EXPECT_THAT(Found("kept", 1), ElementsAre("bob"));
  EXPECT_GT(Generation("kept"), newest);
  EXPECT_GE(Must(kServer, Plain("list", "kept", {"--erased"}))["receipts"].size(), 2u);
  EXPECT_FALSE(fs::exists(W("kept.restoring")));
  Must(kServer, Plain("stats", "kept", {"--verify", "--model", W("model.heft")}));

  // Restores in another folder, where only this user's state folder and a receipt remember the
  // removal.
  const Args elsewhere = Plain("restore", "new", {"--from", W("monday")});
  const Finished without_keys = RunProgram(kServer, elsewhere);
  EXPECT_EQ(without_keys.exit_code, kInput);
  EXPECT_THAT(without_keys.err, HasSubstr("has no server.key"));
  EXPECT_THAT(without_keys.err, HasSubstr("keys.made"));
  EXPECT_FALSE(fs::exists(W("new")));
  fs::create_directory(W("new"));
  for (const char* key : {"server.key", "audit.key", "stand-in.key"}) {
    if (fs::exists(W("kept/") + key)) fs::copy(W("kept/") + key, W("new/") + key);
  }
  const Finished older = RunProgram(kServer, elsewhere);
  EXPECT_EQ(older.exit_code, kInput);
  EXPECT_THAT(older.err, HasSubstr("--accept-older"));
  const json anew =
      Must(kServer, Command("restore", "new", Join(accept, {"--receipts", gone["files"][0]})));
  EXPECT_EQ(anew["erased"], 1);
  EXPECT_THAT(Names("new"), ElementsAre("bob"));
  // When the gallery grows, it can be told from the copy.
  Enrol("kept", "carl", 4);
  EXPECT_THAT(Found("kept", 1), UnorderedElementsAre("bob", "carl"));
}

TEST_F(GalleryCommandsTest, SeveralGalleriesInAFolder) {
  Enrol("store:visitors", "ann", 0);
  Enrol("store:staff", "bob", 2);
  EXPECT_TRUE(fs::exists(W("store/visitors.state.heft")));
  EXPECT_TRUE(fs::exists(W("store/staff.state.heft")));
  EXPECT_THAT(Found("store:staff", 1), ElementsAre("bob"));
  const json info = Must(kServer, Plain("stats", "store:staff"));
  EXPECT_THAT(info["galleries"], ElementsAre("staff", "visitors"));
  EXPECT_EQ(RunProgram(kServer, Plain("stats", "store")).exit_code, kInput);

  Must(kServer, Plain("copy", "visitors", {"--from", W("store:visitors")}));
  EXPECT_THAT(Names("visitors"), ElementsAre("ann"));
  Must(kServer, Plain("stats", "visitors", {"--verify", "--model", W("model.heft")}));
  EXPECT_EQ(RunProgram(kServer, Plain("copy", "store:copy", {"--from", W("visitors")})).exit_code,
            kInput)
      << "it is there already";
  Must(kServer, Plain("copy", "other:guests", {"--from", W("visitors")}));
  Enrol("other:main", "dora", 6);  // makes its server's key
  EXPECT_THAT(Found("other:guests", 1), ElementsAre("ann"));
  // A gallery that has changed since is newer than the export.
  Enrol("other:guests", "carl", 4);
  const Finished older = RunProgram(kServer, Plain("copy", "third", {"--from", W("visitors")}));
  EXPECT_EQ(older.exit_code, kInput);
  EXPECT_THAT(older.err, HasSubstr("accept-older"));
}

TEST_F(GalleryCommandsTest, WhoWritesCanBeToldHowLongToWait) {
  Must(kServer, Command("create", "busy"));
  {
    const auto lock = FileLock::Take(W("busy/lock"), 0600);
    ASSERT_TRUE(lock.ok()) << lock.status();
    const Finished told = RunProgram(kServer, Command("create", "busy:other", {"--wait", "0"}));
    EXPECT_EQ(told.exit_code, kSystem);
    EXPECT_THAT(told.err, HasSubstr("others write to the store"));
    EXPECT_EQ(Must(kServer, Plain("stats", "busy"))["templates"], 0) << "readers never wait";
  }
  Must(kServer, Command("create", "busy:other", {"--wait", "0"}));
  for (const std::string command :
       {"create", "remove", "renew", "compact", "stats", "restore", "copy"}) {
    const Finished help = RunProgram(kServer, {"gallery", command, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.out, HasSubstr("--wait")) << command;
    EXPECT_THAT(help.out, HasSubstr("heft-server gallery " + command)) << command;
  }
}

// GalleryErasureTest: records what the store keeps of a person, and looks for it in all files of
// the server: the gallery's folder, and its state folder.
class GalleryErasureTest : public GalleryCommandsTest {
 protected:
  using Windows = std::set<std::string>;
  static constexpr size_t kWindow = 16, kShortest = 8;
  static constexpr const char* kAnn = "ann whose data is erased";
  static constexpr const char* kBob = "bob who stays";
  static constexpr const char* kRemark = "note=a remark on ann alone";

  // Telling: whether bytes are not found elsewhere by chance, as zeros are.
  static bool Telling(std::string_view bytes) {
    return std::set(bytes.begin(), bytes.end()).size() >= kShortest;
  }
  // Kept: windows of all ciphertexts in a copy of the store, and all its texts and digests.
  static Windows Kept(const std::string& gallery, bool all = true) {
    fs::remove_all(W("copy"));
    fs::copy(W(gallery), W("copy"));
    const std::string blocks = Slurp(W("copy/store.blocks"));
    Windows windows;
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(W("copy/store.sqlite").c_str(), &database), SQLITE_OK);
    const auto each = [&](const std::string& sql, const std::function<void(sqlite3_stmt*)>& use) {
      sqlite3_stmt* rows = nullptr;
      EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &rows, nullptr), SQLITE_OK) << sql;
      while (sqlite3_step(rows) == SQLITE_ROW) use(rows);
      sqlite3_finalize(rows);
    };
    for (const std::string table : {"block", "journal", "pending_file", "renewal"}) {
      each("SELECT page, size FROM " + table + " WHERE page IS NOT NULL", [&](sqlite3_stmt* row) {
        const size_t begin = sqlite3_column_int64(row, 0) * 4096 + kWindow;
        const size_t end = begin + sqlite3_column_int64(row, 1);
        const size_t step = (end - begin) / 256 / 8 * 8 + 8;
        for (size_t at = begin; at + kWindow <= end; at += step) {
          const std::string window = blocks.substr(at, kWindow);
          if (Telling(window)) windows.insert(window);
        }
      });
    }
    for (const std::string table : {"template", "identity", "sample", "pending"}) {
      if (!all) break;
      each("SELECT * FROM " + table, [&](sqlite3_stmt* row) {
        for (int i = 0; i < sqlite3_column_count(row); ++i) {
          const auto size = static_cast<size_t>(sqlite3_column_bytes(row, i));
          const int type = sqlite3_column_type(row, i);
          // Receipts name the person's random id.
          const bool id = std::string_view(sqlite3_column_name(row, i)) == "person";
          const auto* const data = static_cast<const char*>(sqlite3_column_blob(row, i));
          if (size < kShortest || id || !Telling({data, size}) ||
              (type != SQLITE_TEXT && type != SQLITE_BLOB))
            continue;
          windows.insert(std::string(data, size));
        }
      });
    }
    sqlite3_close(database);
    return windows;
  }
  static Windows Ciphertexts(const std::string& gallery) { return Kept(gallery, /*all=*/false); }
  // Of: windows that were not kept before.
  static Windows Of(const Windows& after, const Windows& before) {
    Windows windows;
    std::ranges::set_difference(after, before, std::inserter(windows, windows.end()));
    return windows;
  }
  // Left: how many of them are in the server's files, and where.
  static std::map<std::string, size_t> Left(const std::string& gallery, const Windows& windows) {
    std::map<std::string, std::vector<std::string_view>> by_start;
    for (const std::string& window : windows) {
      by_start[window.substr(0, kShortest)].push_back(window);
    }
    uint64_t first = 0;
    std::unordered_set<uint64_t> starts;
    for (const auto& [start, all] : by_start) {
      std::memcpy(&first, start.data(), kShortest);
      starts.insert(first);
    }
    std::map<std::string, size_t> left;
    for (const std::string& folder : {W(gallery), std::string(std::getenv("HEFT_STATE_DIR"))}) {
      if (!fs::exists(folder)) continue;
      for (const auto& file : fs::recursive_directory_iterator(folder)) {
        if (!file.is_regular_file()) continue;
        const std::string bytes = Slurp(file.path());
        std::set<std::string_view> here;
        for (size_t at = 0; at + kShortest <= bytes.size(); ++at) {
          std::memcpy(&first, bytes.data() + at, kShortest);
          if (!starts.contains(first)) continue;
          for (const std::string_view window : by_start[bytes.substr(at, kShortest)]) {
            if (std::string_view(bytes).substr(at, window.size()) == window) here.insert(window);
          }
        }
        if (!here.empty()) left[file.path().filename()] = here.size();
      }
    }
    return left;
  }
  // Activate: the key owner decides on pending enrolments.
  static void Activate(const std::string& gallery, const Args& owner = {}, size_t rejected = 0) {
    ActivatePending(Join(WithKeys(gallery), {"--enrolment-keys", W(keys_ + "/enrolment.keys")}),
                    W(keys_ + "/secret.key"), owner, rejected);
  }
  // Bring: enrols bob, then ann. Returns the windows of ann, pending and active.
  static Windows Bring(const std::string& gallery, bool activate = true, const Args& more = {}) {
    if (Names(gallery).empty()) Enrol(gallery, kBob, 2);
    const Windows before = Kept(gallery);
    Must(kServer, AddArgs(gallery, kAnn, 0, Join({"--metadata", kRemark}, more)));
    Windows ann = Of(Kept(gallery), before);
    if (activate) {
      Activate(gallery);
      ann.merge(Of(Kept(gallery), before));
    }
    EXPECT_GT(ann.size(), 200u);
    EXPECT_GT(Left(gallery, ann)["store.blocks"], 200u);
    return ann;
  }
};

TEST_F(GalleryErasureTest, OfARemovedPersonNothingIsLeft) {
  Must(kServer, Command("create", "gone"));
  const Windows ann = Bring("gone");
  EXPECT_EQ(Must(kServer, Command("remove", "gone", {"--identity", kAnn}))["erased"], 1);
  EXPECT_THAT(Left("gone", ann), IsEmpty());
}

TEST_F(GalleryErasureTest, OfAPersonWhoLeftABlockNothingIsLeft) {
  Must(kServer, Command("create", "left", {"--retention", "0"}));
  const Windows ann = Bring("left");
  Must(kServer, Command("compact", "left"));
  EXPECT_EQ(Must(kServer, Command("remove", "left", {"--identity", kAnn}))["leaving"], 1);
  Must(kServer, Command("renew", "left", {"--out", W("left.request")}));
  Must(kHeft, {"answer", "--model", W("model.heft"), "--secret-key", W(keys_ + "/secret.key"),
               "--in", W("left.request"), "--out", W("left.renewal")});
  Must(kServer, Join(Join({"apply"}, WithKeys("left")), {"--in", W("left.renewal")}));
  EXPECT_THAT(Left("left", ann), IsEmpty());
}

TEST_F(GalleryErasureTest, OfARejectedEnrolmentNothingIsLeft) {
  Must(kServer, Command("create", "rejected"));
  for (const bool by_key_owner : {false, true}) {
    const Windows ann = Bring("rejected", /*activate=*/false);
    const json pending =
        Must(kServer, Join(Join({"pending"}, WithKeys("rejected")), {"--out", W("rejected.list")}));
    const std::string entry = pending["pending"][0]["entry"];
    if (by_key_owner) {
      Activate("rejected", {"--reject", "entry=" + entry}, 1);
      // The newest approval lists it; the next one replaces that.
      const auto left = Left("rejected", ann);
      EXPECT_THAT(left, AnyOf(IsEmpty(), ElementsAre(Pair("state.heft", 1))));
      Enrol("rejected", "carl who is next", 6);
    } else {
      EXPECT_EQ(Must(kServer, Command("remove", "rejected", {"--entry", entry}))["rejected"], 1);
    }
    EXPECT_THAT(Left("rejected", ann), IsEmpty()) << by_key_owner;
  }
}

TEST_F(GalleryErasureTest, OfAnExpiredPersonNothingIsLeft) {
  Must(kServer, Command("create", "expired"));
  const std::string soon =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now() + absl::Seconds(8), absl::UTCTimeZone());
  const Windows ann = Bring("expired", /*activate=*/true, {"--expires", soon});
  while (Must(kServer, Command("remove", "expired", {"--expired"}))["removed"] == 0) {
    absl::SleepFor(absl::Seconds(1));
  }
  EXPECT_THAT(Names("expired"), ElementsAre(kBob));
  EXPECT_THAT(Left("expired", ann), IsEmpty());
}

TEST_F(GalleryErasureTest, OfAReplacedTemplateNothingIsLeft) {
  MakeRegistry("replacing");
  Must(kServer, Command("create", "replaced"));
  Windows ann = Bring("replaced");
  const std::string id = Must(kServer, Plain("stats", "replaced"))["gallery_id"];
  Must(kHeft, {"authorise", "--key", registrar_, "--gallery-id", id, "--identity", kAnn, "--act",
               "replace", "--out", W("replace.authorisation")});
  Enrol("replaced", kAnn, 1,
        {"--authorisation", W("replace.authorisation"), "--metadata", kRemark});
  // The new template has these.
  const Windows now = Kept("replaced");
  ann = Of(ann, now);
  EXPECT_GT(ann.size(), 500u);
  EXPECT_THAT(Names("replaced"), UnorderedElementsAre(kAnn, kBob));
  EXPECT_THAT(Left("replaced", ann), IsEmpty());
}

TEST_F(GalleryErasureTest, UnderTheOldKeyNothingIsLeft) {
  keys_ = "old-key";
  Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W(keys_), "--no-passphrase"});
  Must(kServer, Command("create", "moved"));
  Bring("moved");
  const Windows journal = Ciphertexts("moved");
  Must(kServer, Command("compact", "moved"));
  const Windows folded = Ciphertexts("moved");
  Must(kHeft, {"rekey", "--model", W("model.heft"), "--secret-key", W("old-key/secret.key"),
               "--out", W("new-key"), "--no-passphrase"});
  Must(kServer, {"apply", "--model", W("model.heft"), "--in", W("new-key/rekeying.key"),
                 "--gallery", W("moved")});
  EXPECT_GT(folded.size(), 200u);
  EXPECT_THAT(Left("moved", folded), IsEmpty());
  EXPECT_THAT(Left("moved", journal), IsEmpty());
  EXPECT_THAT(Names("moved"), UnorderedElementsAre(kAnn, kBob));
}

// The gallery has moved, so a reader of its old state is no error of the command.
TEST_F(GalleryErasureTest, AReaderDelaysTheErasureUnderTheOldKeyAlone) {
  keys_ = "read-key";
  Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W(keys_), "--no-passphrase"});
  Must(kServer, Command("create", "read"));
  Bring("read");
  Must(kServer, Command("compact", "read"));
  const Windows folded = Ciphertexts("read");
  Must(kHeft, {"rekey", "--model", W("model.heft"), "--secret-key", W("read-key/secret.key"),
               "--out", W("read-next"), "--no-passphrase"});
  const Args move = {"apply",     "--model", W("model.heft"), "--in", W("read-next/rekeying.key"),
                     "--gallery", W("read"), "--wait",        "0",    "--json"};
  auto reader = Gallery::Open(W("read"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  const Finished moved = RunProgram(kServer, move);
  EXPECT_EQ(moved.exit_code, 0) << moved.err;
  EXPECT_THAT(moved.err, HasSubstr("`heft-server gallery compact` erases it"));
  EXPECT_EQ(json::parse(moved.out)["overwritten"], false);
  EXPECT_FALSE(Left("read", folded).empty());
  reader = absl::CancelledError();
  EXPECT_EQ(RunProgram(kServer, move).exit_code, kInput) << "it has moved before";
  keys_ = "read-next";
  EXPECT_EQ(Must(kServer, Command("compact", "read"))["overwritten"], true);
  EXPECT_THAT(Left("read", folded), IsEmpty());
}

TEST_F(GalleryErasureTest, ARestoreBringsNothingBack) {
  Must(kServer, Command("create", "back"));
  const Windows ann = Bring("back");
  Must(kServer, Plain("snapshot", "back", {"--out", W("back.snapshot")}));
  Must(kServer, Command("remove", "back", {"--identity", kAnn}));
  EXPECT_THAT(Left("back", ann), IsEmpty());
  EXPECT_GT(Left("back.snapshot", ann)["store.blocks"], 200u);
  EXPECT_EQ(Must(kServer, Command("restore", "back",
                                  {"--from", W("back.snapshot"), "--accept-older"}))["erased"],
            1);
  EXPECT_THAT(Left("back", ann), IsEmpty());
}

// As docs/gallery.md deletes one in SQL, but without secure_delete.
TEST_F(GalleryErasureTest, CompactErasesWhatTheLastGalleryOfAStoreHasLeft) {
  Must(kServer, Command("create", "emptied"));
  const Windows ann = Bring("emptied");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(W("emptied/store.sqlite").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA foreign_keys = ON; DELETE FROM gallery", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  EXPECT_GT(Left("emptied", ann)["store.blocks"], 200u);
  const json done = Must(kServer, Command("compact", "emptied"));
  EXPECT_EQ(done["overwritten"], true);
  EXPECT_THAT(Left("emptied", ann), IsEmpty());
  EXPECT_EQ(RunProgram(kServer, Command("compact", "emptied-never")).exit_code, kInput);
}

}  // namespace
}  // namespace heft::e2e
