// SPDX-License-Identifier: Apache-2.0
// A shared key with the real programs: from the dealer's ceremony to a decision by two of three
// owners, and new shares for the place of one who lost it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

class SharedKeyProgramsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "8", "--samples",
                 "2", "--dimensions", "16", "12"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft"), {"--profile", "flooded"}));
    Args keygen = {"keygen",   "--model", W("model.heft"), "--out", W("keys"),
                   "--owners", "3",       "--threshold",   "2"};
    for (const char* owner : {"1", "2", "3"}) {
      Spill(Passphrase(owner), std::string("passphrase of ") + owner + "\n");
      keygen.insert(keygen.end(), {"--passphrase-file", Passphrase(owner)});
    }
    made_ = new nlohmann::json(Must(kHeft, keygen));
    Encrypt("enrol", {"--row", "0"});
    Encrypt("probe", {"--row", "1", "--for", "identification"});
    Must(kServer, Serve("enrol", "enrol", {"--enrolment-keys", W("keys/enrolment.keys")}));
    for (const char* owner : {"1", "2", "3"}) Believe(Folder(owner) + "/trust.heft", W("gallery"));
    // Approval by owners 1 and 3.
    Must(kServer, Join(OfGallery("pending"), {"--out", W("pending.ct")}));
    Must(kHeft,
         Owner("answer", "1",
               {"--in", W("pending.ct"), "--owners", "1", "3", "--out", W("activate.part")}));
    const auto activated = Must(kHeft, Owner("answer", "3",
                                             {"--in", W("pending.ct"), "--part", W("activate.part"),
                                              "--out", W("admission.heft")}));
    EXPECT_EQ(activated["rejected"].size(), 0u) << activated;
    const auto released = Must(
        kServer, Join(OfGallery("apply"),
                      {"--in", W("admission.heft"), "--enrolment-keys", W("keys/enrolment.keys")}));
    EXPECT_EQ(released["activated"], 1) << released;
  }
  static void TearDownTestSuite() {
    delete made_;
    delete work_;
  }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static std::string Folder(const std::string& owner) { return W("keys/owner-" + owner); }
  static std::string Passphrase(const std::string& owner) { return W("passphrase-" + owner); }
  static Args Join(Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static void Encrypt(const std::string& name, const Args& more) {
    for (const std::string modality : {"face", "voice"}) {
      Must(kHeft, Join({"encrypt", "--model", W("model.heft"), "--key", W("keys/encryption.key"),
                        "--modality", modality, "--in", W("data/" + modality + ".npy"), "--labels",
                        W("data/labels.txt"), "--out", W(name + "-" + modality + ".ct")},
                       more));
    }
  }
  static Args OfGallery(const std::string& subcommand) {
    return {subcommand,  "--model",   W("model.heft"), "--keys", W("keys/evaluation.keys"),
            "--gallery", W("gallery")};
  }
  static Args Serve(const std::string& subcommand, const std::string& samples, const Args& more) {
    return Join(Join(OfGallery(subcommand),
                     {"--in", W(samples + "-face.ct"), "--in", W(samples + "-voice.ct")}),
                more);
  }
  static Args Owner(const std::string& subcommand, const std::string& owner, const Args& more,
                    const std::string& share = "share.key") {
    return Join({subcommand, "--model", W("model.heft"), "--secret-key",
                 Folder(owner) + "/" + share, "--passphrase-file", Passphrase(owner)},
                more);
  }
  static std::string Reply(const std::string& name) {
    Must(kServer, Serve("identify", "probe", {"--out", W(name)}));
    return W(name);
  }
  static std::string LabelOfRow(int row) {
    std::istringstream lines(Slurp(W("data/labels.txt")));
    std::string label;
    for (int i = 0; i <= row; ++i) std::getline(lines, label);
    return label;
  }
  // What every owner gives to `decrypt`.
  static Args Question(const std::string& reply, const Args& more) {
    return Join({"--in", reply, "--threshold", "0.5"}, more);
  }

  inline static Workplace* work_ = nullptr;
  inline static nlohmann::json* made_ = nullptr;
};

TEST_F(SharedKeyProgramsTest, TwoOfThreeDecide) {
  EXPECT_EQ((*made_)["shares"].size(), 3u);
  EXPECT_FALSE(std::filesystem::exists(W("keys/secret.key")));
  const auto check = Must(kHeft, Owner("share", "2", {"--keys", W("keys")}));
  EXPECT_EQ(check["threshold"], 2);
  const auto openings = [](const char* owner) {
    return Must(kHeft, Owner("budget", owner, {}))["openings"].get<int>();
  };
  const int before[] = {openings("1"), openings("2"), openings("3")};
  const std::string reply = Reply("scores.ct");
  Must(kHeft,
       Owner("decrypt", "3", Question(reply, {"--owners", "2", "3", "--out", W("three.part")})));
  const auto decided =
      Must(kHeft, Owner("decrypt", "2", Question(reply, {"--part", W("three.part")})));
  EXPECT_EQ(decided["accepted"], true) << decided;
  EXPECT_EQ(openings("1"), before[0]);
  EXPECT_EQ(openings("2"), before[1] + 1);
  EXPECT_EQ(openings("3"), before[2] + 1);
}

TEST_F(SharedKeyProgramsTest, AnOutputThatCannotBeWrittenCostsNothing) {
  const auto budget = [] { return Must(kHeft, Owner("budget", "1", {})); };
  const std::string reply = Reply("uncharged.ct");
  const auto before = budget();
  for (const std::string& out : {W("nowhere/1.part"), W("data")}) {
    const Finished part = RunProgram(
        kHeft, Owner("decrypt", "1", Question(reply, {"--owners", "1", "2", "--out", out})));
    EXPECT_NE(part.exit_code, 0) << out;
    EXPECT_THAT(part.err, HasSubstr(out));
    EXPECT_EQ(budget()["openings"], before["openings"]) << out;
  }
  // The same reply opens afterwards.
  Must(kHeft,
       Owner("decrypt", "1", Question(reply, {"--owners", "1", "2", "--out", W("charged.part")})));
  EXPECT_EQ(budget()["openings"], before["openings"].get<int>() + 1);
}

// A share under another name than its journal opens nothing and leaves nothing behind.
TEST_F(SharedKeyProgramsTest, NoLockIsLeftWhereNoJournalIs) {
  const std::string elsewhere = Folder("1") + "/elsewhere.key";
  std::filesystem::copy_file(Folder("1") + "/share.key", elsewhere);
  const Finished opened = RunProgram(
      kHeft, Owner("decrypt", "1",
                   Question(Reply("elsewhere.ct"), {"--owners", "1", "2", "--out", W("no.part")}),
                   "elsewhere.key"));
  EXPECT_EQ(opened.exit_code, kInput);
  EXPECT_THAT(opened.err, HasSubstr("the key's journal is not there"));
  EXPECT_FALSE(std::filesystem::exists(elsewhere + ".journal.lock"));
  std::filesystem::remove(elsewhere);
}

TEST_F(SharedKeyProgramsTest, OneOwnersCanariesAreForAllOwners) {
  const Finished keyless = RunProgram(kHeft, Owner("canary", "1", {"--out", W("canaries")}));
  EXPECT_EQ(keyless.exit_code, kInput);
  EXPECT_THAT(keyless.err, HasSubstr("--key"));
  EXPECT_FALSE(std::filesystem::exists(W("canaries")));
  Must(kHeft, Owner("canary", "1", {"--key", W("keys/encryption.key"), "--out", W("canaries")}));
  for (const char* owner : {"1", "2", "3"}) {
    Must(kHeft, Owner("canary", owner, {"--require", W("canaries/canaries.heft")}));
    std::filesystem::remove(Folder(owner) + "/share.key.canaries");
  }
}

TEST_F(SharedKeyProgramsTest, InspectShowsWhatItsFilesSay) {
  const auto inspect = [](const std::string& path) { return Must(kHeft, {"inspect", path}); };
  const auto check = Must(kHeft, Owner("share", "2", {"--keys", W("keys")}));
  for (const std::string& path : {W("keys/ceremony.heft"), Folder("2") + "/share.key"}) {
    const auto record = inspect(path);
    for (const char* fact : {"key_id", "owners", "threshold", "renewal", "signers", "ceremony"}) {
      EXPECT_EQ(record[fact], check[fact]) << path << ": " << fact;
    }
  }
  const auto step = [&](const nlohmann::json& file, const std::vector<int>& set) {
    EXPECT_EQ(file["key_id"], check["key_id"]) << file;
    EXPECT_EQ(file["ceremony"], check["ceremony"]) << file;
    EXPECT_EQ(file["owner"], 1) << file;
    EXPECT_EQ(file["set"], nlohmann::json(set)) << file;
    EXPECT_FALSE(file.contains("params_id")) << file;
  };
  const auto part = inspect(W("activate.part"));
  step(part, {1, 3});
  EXPECT_GT(part["openings"], 0);
  EXPECT_EQ(part["signed"]["gallery"], inspect(W("gallery"))["gallery_id"]);
  Must(kHeft, Owner("share", "1",
                    {"--owners", "1", "2", "--replace", "3", "--key", check["signers"][1], "--out",
                     W("inspected.msg")}));
  const auto message = inspect(W("inspected.msg"));
  step(message, {1, 2});
  EXPECT_EQ(message["replaces"], 3);
  Must(kHeft, Owner("canary", "1", {"--key", W("keys/encryption.key"), "--out", W("inspected")}));
  const auto canaries = inspect(W("inspected/canaries.heft"));
  EXPECT_EQ(canaries["key_id"], check["key_id"]);
  EXPECT_EQ(canaries["model_id"], inspect(W("model.heft"))["id"]);
  EXPECT_EQ(canaries["owners"], 3);
}

TEST_F(SharedKeyProgramsTest, NoOwnerOpensAlone) {
  const std::string reply = Reply("alone.ct");
  const Finished alone = RunProgram(kHeft, Owner("decrypt", "1", Question(reply, {})));
  EXPECT_EQ(alone.exit_code, kInput);
  EXPECT_THAT(alone.err, HasSubstr("opens with 2 of 3 owners"));
  // A part for another reply, and a wrong passphrase.
  Must(kHeft,
       Owner("decrypt", "1", Question(reply, {"--owners", "1", "2", "--out", W("one.part")})));
  const Finished other = RunProgram(
      kHeft, Owner("decrypt", "2", Question(Reply("other.ct"), {"--part", W("one.part")})));
  EXPECT_EQ(other.exit_code, kInput);
  EXPECT_THAT(other.err, HasSubstr("of another reply"));
  Args wrong = Owner("decrypt", "2", Question(reply, {"--part", W("one.part")}));
  wrong[6] = Passphrase("1");
  EXPECT_NE(RunProgram(kHeft, wrong).exit_code, 0);
}

// A removed person leaves the block by an answer that owners 2 and 3 give.
TEST_F(SharedKeyProgramsTest, TwoOfThreeRenewBlocks) {
  const Args store = {"--model",   W("model.heft"), "--keys", W("keys/evaluation.keys"),
                      "--gallery", W("fleeting")};
  const Args enrolment = {"--enrolment-keys", W("keys/enrolment.keys")};
  const auto serve = [&](const Args& command, const Args& more) {
    return Must(kServer, Join(Join(command, store), more));
  };
  const auto together = [&](const std::string& request, const std::string& out) {
    const Args in = {"--in", W(request)};
    Must(kHeft, Owner("answer", "2", Join(in, {"--owners", "2", "3", "--out", W(out + ".part")})));
    return Must(kHeft,
                Owner("answer", "3", Join(in, {"--part", W(out + ".part"), "--out", W(out)})));
  };
  serve({"gallery", "create"}, {"--retention", "0"});
  for (const char* owner : {"2", "3"}) Believe(Folder(owner) + "/trust.heft", W("fleeting"));
  for (const int row : {0, 2}) {
    const std::string name = "person-" + std::to_string(row);
    Encrypt(name, {"--row", std::to_string(row)});
    serve({"enrol"},
          Join(enrolment, {"--in", W(name + "-face.ct"), "--in", W(name + "-voice.ct")}));
    serve({"pending"}, {"--out", W(name + ".ct")});
    together(name + ".ct", name + ".heft");
    serve({"apply"}, Join(enrolment, {"--in", W(name + ".heft")}));
    serve({"gallery", "compact"}, {});
  }
  EXPECT_EQ(serve({"gallery", "remove"}, {"--identity", LabelOfRow(2)})["leaving"], 1);
  serve({"gallery", "renew"}, {"--out", W("renewal.ct")});
  // An owner gives one part of a renewal. One that cannot be written is not given.
  const Args lost = {"--in",  W("renewal.ct"),       "--owners", "2", "3",
                     "--out", W("nowhere/lost.part")};
  EXPECT_EQ(RunProgram(kHeft, Owner("answer", "2", lost)).exit_code, kInput);
  EXPECT_EQ(together("renewal.ct", "renewal.heft")["templates"], 1);
  EXPECT_EQ(serve({"apply"}, {"--in", W("renewal.heft")})["erased"], 1);
  // The other person is found as before. The gallery is not the first of this key.
  serve({"identify"},
        {"--in", W("probe-face.ct"), "--in", W("probe-voice.ct"), "--out", W("renewed.ct")});
  const Args question = Question(W("renewed.ct"), {});
  Must(kHeft, Owner("decrypt", "2", Join(question, {"--owners", "2", "3", "--out", W("r.part")})));
  const auto decided = Must(kHeft, Owner("decrypt", "3", Join(question, {"--part", W("r.part")})));
  EXPECT_EQ(decided["accepted"], true) << decided;
  EXPECT_EQ(decided["identity"], LabelOfRow(0));
}

// A gallery moves from one key of two owners to another, which neither of them opens alone.
TEST_F(SharedKeyProgramsTest, TwoOwnersRekey) {
  const auto key = [&](const std::string& name) {
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W(name), "--owners", "2",
                 "--threshold", "2", "--no-passphrase"});
  };
  const auto store = [&](const std::string& keys, const Args& command, const Args& more) {
    return Must(kServer,
                Join(Join(command, {"--model", W("model.heft"), "--keys",
                                    W(keys + "/evaluation.keys"), "--gallery", W("moving")}),
                     more));
  };
  const auto owner = [&](const std::string& command, const std::string& share, const Args& more) {
    return Join({command, "--model", W("model.heft"), "--secret-key", W(share + "/share.key")},
                more);
  };
  const auto encrypt = [&](const std::string& keys, const std::string& name, const Args& more) {
    for (const std::string modality : {"face", "voice"}) {
      Must(kHeft, Join({"encrypt", "--model", W("model.heft"), "--key", W(keys + "/encryption.key"),
                        "--modality", modality, "--in", W("data/" + modality + ".npy"), "--labels",
                        W("data/labels.txt"), "--out", W(name + "-" + modality + ".ct")},
                       more));
    }
    return Args{"--in", W(name + "-face.ct"), "--in", W(name + "-voice.ct")};
  };
  const auto together = [&](const std::string& command, const std::string& keys,
                            const std::string& in, const Args& more) {
    const Args question = Join({"--in", W(in)}, more);
    Must(kHeft, owner(command, keys + "/owner-1",
                      Join(question, {"--owners", "1", "2", "--out", W(in + ".part")})));
    const Args out = command == "answer" ? Args{"--out", W(in + ".heft")} : Args{};
    return Must(kHeft, owner(command, keys + "/owner-2",
                             Join(Join(question, {"--part", W(in + ".part")}), out)));
  };
  const auto believe = [&](const std::string& keys) {
    for (const char* one : {"/owner-1", "/owner-2"}) {
      Believe(W(keys + one + "/trust.heft"), W("moving"));
    }
  };
  key("first");
  const Args enrolment = {"--enrolment-keys", W("first/enrolment.keys")};
  store("first", {"enrol"}, Join(enrolment, encrypt("first", "moved", {"--row", "0"})));
  believe("first");
  store("first", {"pending"}, {"--out", W("moving.ct")});
  together("answer", "first", "moving.ct", {});
  store("first", {"apply"}, Join(enrolment, {"--in", W("moving.ct.heft")}));
  const Args probe = {"--row", "1", "--for", "identification"}, rule = {"--threshold", "0.5"};
  store("first", {"identify"}, Join(encrypt("first", "asked", probe), {"--out", W("asked.ct")}));
  EXPECT_EQ(together("decrypt", "first", "asked.ct", rule)["accepted"], true);
  const auto opened = Must(kHeft, owner("budget", "first/owner-1", {}))["openings"];
  EXPECT_EQ(opened, 1);

  key("second");
  const auto rekey = [&](const std::string& one, const Args& more) {
    return owner("rekey", "first" + one, Join({"--to", W("second" + one + "/share.key")}, more));
  };
  // Without the journal of the new share nothing is given, so it can be repeated.
  const std::string journal = W("second/owner-1/share.key.journal");
  const Args give = {"--owners", "1", "2", "--out", W("rekey.part")};
  std::filesystem::rename(journal, journal + ".away");
  const Finished early = RunProgram(kHeft, rekey("/owner-1", give));
  EXPECT_EQ(early.exit_code, kInput);
  EXPECT_THAT(early.err, HasSubstr("journal is not there"));
  std::filesystem::rename(journal + ".away", journal);
  Must(kHeft, rekey("/owner-1", give));
  const Finished again =
      RunProgram(kHeft, rekey("/owner-1", {"--owners", "1", "2", "--out", W("again.part")}));
  EXPECT_EQ(again.exit_code, kInput);
  EXPECT_THAT(again.err, HasSubstr("revoked"));
  EXPECT_FALSE(std::filesystem::exists(W("again.part")));
  const Finished other =
      RunProgram(kHeft, rekey("/owner-2", {"--part", W("asked.ct.part"), "--out", W("none")}));
  EXPECT_EQ(other.exit_code, kInput);
  EXPECT_THAT(other.err, HasSubstr("of another"));
  Must(kHeft, rekey("/owner-2", {"--part", W("rekey.part"), "--out", W("second/rekeying.key")}));
  Must(kServer, {"apply", "--model", W("model.heft"), "--gallery", W("moving"), "--in",
                 W("second/rekeying.key")});
  believe("second");
  store("second", {"identify"}, Join(encrypt("second", "later", probe), {"--out", W("later.ct")}));
  const auto decided = together("decrypt", "second", "later.ct", rule);
  EXPECT_EQ(decided["accepted"], true) << decided;
  EXPECT_EQ(decided["identity"], LabelOfRow(0));
  // What each owner has counted moved too.
  for (const char* one : {"second/owner-1", "second/owner-2"}) {
    const auto budget = Must(kHeft, owner("budget", one, {}));
    EXPECT_EQ(budget["identifications"], 2) << budget;
    EXPECT_EQ(budget["openings"], 1) << "under this key";
  }
}

TEST_F(SharedKeyProgramsTest, ALostShareIsReplaced) {
  Spill(Passphrase("new"), "a new one\n");
  const std::string blank = Folder("2") + "/blank.key";
  const std::string signer = Must(
      kHeft, {"share", "--model", W("model.heft"), "--record", W("keys/ceremony.heft"), "--replace",
              "2", "--out", blank, "--new-passphrase-file", Passphrase("new")})["signer"];
  const auto reshare = [&](const std::string& key, const std::string& passphrase,
                           const Args& more) {
    return Must(kHeft, Join({"share", "--model", W("model.heft"), "--secret-key", key,
                             "--passphrase-file", Passphrase(passphrase)},
                            more));
  };
  for (const std::string owner : {"1", "3"}) {
    reshare(Folder(owner) + "/share.key", owner,
            {"--owners", "1", "3", "--replace", "2", "--key", signer, "--out", W(owner + ".msg")});
  }
  const Args messages = {"--in", W("1.msg"), W("3.msg")};
  reshare(blank, "new", Join(messages, {"--out", W("new-2.key"), "--no-passphrase"}));
  reshare(Folder("1") + "/share.key", "1",
          Join(messages, {"--out", W("new-1.key"), "--new-passphrase-file", Passphrase("1")}));
  // Each takes the old one's place, beside the journal.
  std::filesystem::rename(W("new-2.key"), blank);
  std::filesystem::rename(W("new-1.key"), Folder("1") + "/share.key");
  const std::string reply = Reply("after.ct");
  Must(kHeft,
       Owner("decrypt", "1", Question(reply, {"--owners", "1", "2", "--out", W("after.part")})));
  const auto decided =
      Must(kHeft, Owner("decrypt", "2", Question(reply, {"--part", W("after.part")}), "blank.key"));
  EXPECT_EQ(decided["accepted"], true) << decided;
  // The lost share, found again, does not combine with new ones.
  const std::string second = Reply("found.ct");
  Must(kHeft,
       Owner("decrypt", "2", Question(second, {"--owners", "1", "2", "--out", W("found.part")})));
  const Finished found =
      RunProgram(kHeft, Owner("decrypt", "1", Question(second, {"--part", W("found.part")})));
  EXPECT_EQ(found.exit_code, kInput);
  EXPECT_THAT(found.err, HasSubstr("unknown key-owner"));
}

}  // namespace
}  // namespace heft::e2e
