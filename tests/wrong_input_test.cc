// SPDX-License-Identifier: Apache-2.0
// Messages of the programs about wrong input: one clear line on stderr, the documented exit code,
// nothing on stdout, and every file and gallery unchanged to the byte. Damaged files are in
// wrong_files_test.cc.
#include "tests/wrong_input.h"

#include <sys/stat.h>

namespace heft::e2e {
namespace {

class WrongArgumentsTest : public WrongInputTest {};

TEST_F(WrongArgumentsTest, OtherKeyOrParameters) {
  for (const char* subcommand : {"enrol", "identify", "verify"}) {
    Args more;
    if (subcommand != std::string("enrol")) more = {"--out", W("server/new.ct")};
    if (subcommand == std::string("verify")) more.insert(more.end(), {"--identity", "0"});
    Refused(kServer, Serve(subcommand, more, {.samples = {W("client/stranger.ct")}}), kInput,
            {"another key"});
    Refused(kServer, Serve(subcommand, more, {.samples = {W("client/flooded.ct")}}), kInput,
            {W("client/flooded.ct"), "other parameters"});
  }
  // Two files that do not belong together.
  Refused(kServer, Serve("enrol", {}, {.samples = {W("client/voice.ct"), W("client/stranger.ct")}}),
          kInput, {W("client/stranger.ct"), "another key"});
  // Keys of other parameters.
  const std::string flooded_keys = W("owner/flooded/evaluation.keys");
  Refused(kServer, Serve("enrol", {}, {.keys = flooded_keys}), kInput,
          {flooded_keys, "other parameters"});
  Refused(kHeft,
          {"encrypt", "--model", W("owner/model.heft"), "--key", W("owner/flooded/encryption.key"),
           "--modality", "face", "--in", W("client/face.npy"), "--out", W("client/new.ct")},
          kInput, {W("owner/flooded/encryption.key"), "other parameters"});
  for (const char* owner : {"stranger", "flooded"}) {
    Refused(kHeft,
            {"decrypt", "--model", W("owner/model.heft"), "--secret-key",
             W("owner/" + std::string(owner) + "/secret.key"), "--in", W("server/scores.ct"),
             "--threshold", "0.5"},
            kInput, {owner == std::string("flooded") ? "other parameters" : "made for another"});
  }
}

TEST_F(WrongArgumentsTest, EvaluationKeysLackARotation) {
  const std::string few = W("owner/few/evaluation.keys");
  Refused(kServer, Serve("enrol", {}, {.keys = few}), kInput, {"lack the rotation", "heft keygen"});
  Refused(kServer, Serve("identify", {"--out", W("server/new.ct")}, {.keys = few}), kInput,
          {"lack the rotation", "heft keygen"});
}

TEST_F(WrongArgumentsTest, UnknownNames) {
  Refused(kServer, Serve("verify", {"--identity", "a\nb\x1b[2J", "--out", W("server/new.ct")}),
          kInput, {"control"});
  Refused(kHeft, With(EncryptArgs(W("client/face.npy")), "--modality", "gait"), kInput,
          {"no modality", "gait", "face", "voice"});
  Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--label", "a\tb"}), kInput, {"control"});
  Refused(kServer, Serve("enrol", {"--identity", "a\tb"}), kInput, {"control"});
  Refused(kServer, Serve("enrol", {"--identity", std::string(256, 'x')}), kInput, {"255 bytes"});
  Refused(kHeft, TrainArgs(W("data"), W("owner/new.heft"), {"--recipe", "secret"}), kInput,
          {"secret", "generalising"});
  Refused(kHeft, TrainArgs(W("data"), W("owner/new.heft"), {"--profile", "tiny"}), kInput,
          {"tiny", "flooded"});
  // The paper's profiles are for the paper's methods.
  for (const char* profile : {"compact", "paper", "deep", "deepest"}) {
    Refused(kHeft, TrainArgs(W("data"), W("owner/new.heft"), {"--profile", profile}), kInput,
            {profile, "choose standard, flooded\n"});
  }
}

TEST_F(WrongArgumentsTest, NamesThatDeceive) {
  const std::string turned = "ann\u202enna";
  for (const std::string& name : {turned, std::string("ann\xc2\x9b"), std::string("J\xfcrgen")}) {
    const std::string labels = File("labels", "ann\n" + name + "\nbob\n");
    Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--labels", labels}), kInput,
            {labels + ", row 1 (from 0): an identity "});
    Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--label", name}), kInput, {"an identity "});
    Refused(kServer, Serve("enrol", {"--identity", name}), kInput, {"an identity "});
  }
  const std::string gap = File("gap.txt", "1,2,3\n4,,6\n");
  Refused(kHeft, EncryptArgs(gap), kInput, {gap + ": an empty field in row 1, column 1"});
}

TEST_F(WrongArgumentsTest, NotesInADataFolder) {
  std::filesystem::copy(W("data"), W("noted"));
  Spill(W("noted/notes.txt"), "Recorded by\x1b[2J nobody.\n");
  const Finished run = RunProgram(kHeft, TrainArgs(W("noted"), W("noted/model.heft")));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, StartsWith("heft: not a modality, because it does not begin with a number: "
                                  "notes.txt\n"));
  EXPECT_EQ(Must(kHeft, {"inspect", W("noted/model.heft")})["modalities"].size(), 2u);
  // Every program that reads the folder reports this before it starts work; these then fail.
  const std::vector<std::pair<const char*, Args>> readers = {
      {kHeft, {"evaluate", "--data", W("noted"), "--model", W("owner/small.heft")}},
      {kHeftPaper,
       {"reproduce", "--data", W("noted"), "--out", W("noted/page.html"), "--only", "table2",
        "--exact-projection", W("none"), "--aware-projection", W("none")}}};
  for (const auto& [program, args] : readers) {
    const Finished failed = RunProgram(program, args);
    EXPECT_EQ(failed.exit_code, kInput) << failed.err;
    EXPECT_THAT(failed.err, StartsWith("heft: not a modality, because it does not begin with a "
                                       "number: notes.txt\n"));
    EXPECT_EQ(Lines(failed.err), 2u) << failed.err;
  }
}

TEST_F(WrongArgumentsTest, ManySamplesHintAtBulk) {
  std::string rows;
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 24; ++j) rows += std::to_string(i + j + 1) + (j < 23 ? "," : "\n");
  }
  const std::string many = File("many.txt", rows);
  const Finished run = RunProgram(kHeft, EncryptArgs(many));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err,
            "heft: a ciphertext for each of 100 samples; --bulk would make 24, for enrolment only: "
            "its files cannot be probes\n");
  const Finished bulk = RunProgram(kHeft, EncryptArgs(many, {"--bulk"}));
  EXPECT_EQ(bulk.err, "");
  const Finished probe =
      RunProgram(kServer, Serve("identify", {"--quiet", "--out", W("server/new.ct")},
                                {.samples = {W("client/new.ct")}}));
  EXPECT_EQ(probe.exit_code, kInput);
  EXPECT_THAT(probe.err, HasSubstr("heft encrypt --for identification"));
}

TEST_F(WrongArgumentsTest, OtherModelsGallery) {
  Refused(kServer, Serve("enrol", {}, {.model = W("owner/other.heft")}), kInput, {"another model"});
  Refused(kServer,
          Serve("identify", {"--out", W("server/new.ct")}, {.model = W("owner/other.heft")}),
          kInput, {"another model"});
  Refused(
      kServer,
      Serve("enrol", {},
            {.keys = W("owner/stranger/evaluation.keys"), .samples = {W("client/stranger.ct")}}),
      kInput, {"another key"});
  Refused(kServer,
          Serve("enrol", {},
                {.model = W("owner/flooded.heft"),
                 .keys = W("owner/flooded/evaluation.keys"),
                 .samples = {W("client/flooded.ct")}}),
          kInput, {"other parameters"});
  Refused(kHeft,
          {"decrypt", "--model", W("owner/other.heft"), "--secret-key", W("owner/keys/secret.key"),
           "--in", W("server/scores.ct"), "--threshold", "0.5"},
          kInput, {W("server/scores.ct"), "another model"});
}

TEST_F(WrongArgumentsTest, SecretKeys) {
  // Output over existing keys.
  Refused(kHeft, {"keygen", "--model", W("owner/model.heft"), "--out", W("owner/keys")}, kInput,
          {W("owner/keys/secret.key"), "never overwritten"});
  // A key file that others can read.
  std::filesystem::copy(W("owner/keys/secret.key"), W("owner/open.key"));
  ASSERT_EQ(chmod(W("owner/open.key").c_str(), 0644), 0);
  const std::string trust = W("owner/keys/trust.heft");
  Refused(kHeft,
          {"decrypt", "--model", W("owner/model.heft"), "--secret-key", W("owner/open.key"), "--in",
           W("server/scores.ct"), "--threshold", "0.5", "--trust", trust},
          kInput, {W("owner/open.key"), "chmod 600"});
  // Passphrases.
  const std::string right = File("right", "right\n"), wrong = File("wrong", "wrong\n"),
                    blank = File("blank", "\n");
  Refused(kHeft,
          {"keygen", "--model", W("owner/model.heft"), "--out", W("owner/new"), "--passphrase-file",
           blank},
          kInput, {blank, "empty passphrase"});
  Keygen("model", "sealed", {"--passphrase-file", right});
  Believe(W("owner/sealed/trust.heft"), W("server/gallery"));
  // Encrypted or not: a passphrase can be guessed.
  std::filesystem::copy(W("owner/sealed/secret.key"), W("owner/open-sealed.key"));
  ASSERT_EQ(chmod(W("owner/open-sealed.key").c_str(), 0640), 0);
  Refused(kHeft,
          {"decrypt", "--model", W("owner/model.heft"), "--secret-key", W("owner/open-sealed.key"),
           "--passphrase-file", right, "--in", W("server/scores.ct"), "--threshold", "0.5",
           "--trust", trust},
          kInput, {W("owner/open-sealed.key"), "chmod 600"});
  const Args decrypt = {"decrypt",
                        "--model",
                        W("owner/model.heft"),
                        "--secret-key",
                        W("owner/sealed/secret.key"),
                        "--in",
                        W("server/scores.ct"),
                        "--threshold",
                        "0.5"};
  Args with_wrong = decrypt, with_none = decrypt;
  with_wrong.insert(with_wrong.end(), {"--passphrase-file", wrong});
  with_none.insert(with_none.end(), {"--passphrase-file", W("owner/none")});
  Refused(kHeft, with_wrong, kInput, {W("owner/sealed/secret.key"), "wrong passphrase"});
  Refused(kHeft, with_none, kInput, {W("owner/none"), "No such file"});
  const std::string damaged = File("damaged.key", Flipped(Slurp(W("owner/keys/secret.key")), 500));
  ASSERT_EQ(chmod(damaged.c_str(), 0600), 0);
  Refused(kHeft,
          {"decrypt", "--model", W("owner/model.heft"), "--secret-key", damaged, "--in",
           W("server/scores.ct"), "--threshold", "0.5", "--trust", trust},
          kInput, {damaged, "checksum"});
}

TEST_F(WrongArgumentsTest, RatesThatTheModelLacks) {
  // scores.ct answers a search, for which a rate of one comparison has no meaning.
  Refused(kHeft, DecryptArgs(W("server/scores.ct"), {"--fmr", "1e-2"}), kInput, {"--fpir"});
  Refused(kHeft, DecryptArgs(W("server/scores.ct"), {"--fpir", "1e-9"}), kInput,
          {"an FPIR of 1e-09", "they reach to"});
  Refused(kHeft, DecryptArgs(W("server/scores.ct"), {"--fpir", "0"}), kInput, {"between 0 and 1"});
}

TEST_F(WrongArgumentsTest, UsageErrors) {
  const std::vector<std::pair<const char*, Args>> all = {
      {kHeft, {}},
      {kHeft, {"fuse"}},
      {kHeft, {"encrypt"}},
      {kHeft, {"encrypt", "--model", "m", "--modality", "face", "--in", "x", "--out", "y"}},
      {kHeft,
       {"encrypt", "--key", "k", "--secret-key", "s", "--model", "m", "--modality", "face", "--in",
        "x", "--out", "y"}},
      {kHeft, EncryptArgs("x", {"--row", "-1"})},
      {kHeft, EncryptArgs("x", {"--labels", "a", "--label", "b"})},
      {kHeft, {"decrypt", "--nonsense"}},
      {kHeft, DecryptArgs("x", {"--fmr", "0.1", "--threshold", "0.5"})},
      {kHeft, DecryptArgs("x", {"--fpir", "0.1", "--threshold", "0.5"})},
      {kHeft, DecryptArgs("x", {"--fpir", "0.1", "--threshold", "0.5"})},
      {kHeft, DecryptArgs("x", {"--fmr", "often"})},
      {kHeft, {"train", "--gamma", "many"}},
      {kHeft, {"inspect"}},
      {kHeft, {"synth", "--out", "x", "--threads", "-1"}},
      {kServer, {"verify", "--out", "x"}},
      {kServer, {}},
  };
  for (const auto& [program, args] : all) {
    const Finished run = RunProgram(program, args);
    EXPECT_EQ(run.exit_code, kUsage) << ::testing::PrintToString(args) << run.err;
    EXPECT_EQ(run.out, "") << ::testing::PrintToString(args);
    EXPECT_NE(run.err, "") << ::testing::PrintToString(args);
  }
}

TEST_F(WrongArgumentsTest, HelpShowsAnExampleAndVersionsAreTold) {
  const std::map<const char*, std::vector<std::string>> all = {
      {kHeft, {"init",   "add",     "search",  "remove",    "export-role", "synth", "train",
               "keygen", "encrypt", "decrypt", "evaluate",  "inspect",     "bench", "budget",
               "rekey",  "answer",  "verify",  "authorise", "study",       "share", "calibrate"}},
      {kServer, {"enrol", "identify", "verify", "apply", "pending", "reveal"}}};
  for (const auto& [program, subcommands] : all) {
    const std::string name = program == kHeft ? "heft" : "heft-server";
    for (const std::string& subcommand : subcommands) {
      const Finished run = RunProgram(program, {subcommand, "--help"});
      EXPECT_EQ(run.exit_code, 0) << subcommand;
      EXPECT_THAT(run.out, HasSubstr("Example:\n  " + name + " " + subcommand + " ")) << subcommand;
      EXPECT_THAT(run.out, HasSubstr("--json")) << subcommand;
      EXPECT_EQ(run.err, "") << subcommand;
    }
  }
  EXPECT_EQ(RunProgram(kHeft, {"enrol", "--model", "m"}).exit_code, kUsage) << "the server's alone";
  for (const char* program : {kHeft, kServer}) {
    const Finished version = RunProgram(program, {"--version"});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_THAT(version.out, StartsWith("heft 0."));
    EXPECT_THAT(RunProgram(program, {"--help"}).out, HasSubstr("Exit codes"));
  }
}

}  // namespace
}  // namespace heft::e2e
