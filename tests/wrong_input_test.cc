// SPDX-License-Identifier: Apache-2.0
// What the programs say to wrong input: one clear line on stderr, the documented exit code, nothing
// on stdout, and every file and gallery as it was, to the byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kUsage = 2, kInput = 3, kSystem = 4;

std::string Truncated(const std::string& file) { return file.substr(0, file.size() / 2); }
std::string Flipped(std::string file, size_t at) {
  file[at] = static_cast<char>(file[at] ^ 0x10);
  return file;
}

// w("owner"): model A and its keys; models of the same dimensions but of another seed (other.heft)
// and of other parameters (pq.heft), and one that needs fewer rotations (small.heft). w("client"):
// vectors and samples. w("server/gallery"): three templates.
class WrongInputTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    const Workplace& w = *work_;
    Must(kHeft, {"synth", "--out", w("data"), "--identities", "20", "--samples", "3",
                 "--dimensions", "24", "16"});
    Must(kHeft, {"synth", "--out", w("small"), "--identities", "20", "--samples", "3",
                 "--dimensions", "4", "4"});
    Must(kHeft, TrainArgs(w("data"), w("owner/model.heft")));
    Must(kHeft, TrainArgs(w("data"), w("owner/other.heft"), {"--seed", "2"}));
    Must(kHeft, TrainArgs(w("data"), w("owner/pq.heft"), {"--profile", "compact-pq"}));
    Args small = TrainArgs(w("small"), w("owner/small.heft"));
    std::replace(small.begin(), small.end(), std::string("16"), std::string("4"));
    Must(kHeft, small);
    Keygen("model", "keys");
    Keygen("model", "stranger");  // the same parameters, another key
    Keygen("pq", "pq");
    Keygen("small", "few", {"--secret-key", w("owner/keys/secret.key")});
    Encrypt("model", "keys", "face", w("client/face.ct"));
    Encrypt("model", "keys", "voice", w("client/voice.ct"));
    Encrypt("model", "stranger", "face", w("client/stranger.ct"));
    Encrypt("pq", "pq", "face", w("client/pq.ct"));
    Encrypt("small", "keys", "face", w("client/small.ct"), "small");
    Must(kServer, Serve("enrol"));
    Must(kServer, Serve("identify", {"--out", w("server/scores.ct")}));
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string W(const std::string& path) { return (*work_)(path); }

  static void Keygen(const std::string& model, const std::string& folder, const Args& more = {}) {
    Args args = {"keygen", "--model", W("owner/" + model + ".heft"), "--out", W("owner/" + folder)};
    args.insert(args.end(), more.begin(), more.end());
    Must(kHeft, args);
  }
  static void Encrypt(const std::string& model, const std::string& keys,
                      const std::string& modality, const std::string& out,
                      const std::string& data = "data") {
    const Dataset dataset = *LoadDataset(W(data));
    // client/face.npy, but client/small-face.npy.
    const std::string npy = W("client/" + (data == "data" ? "" : data + "-") + modality + ".npy");
    WriteRows(dataset, modality, {0, 3, 6}, npy, W("client/labels.txt"));
    Must(kHeft, {"encrypt", "--model", W("owner/" + model + ".heft"), "--key",
                 W("owner/" + keys + "/encryption.key"), "--modality", modality, "--in", npy,
                 "--labels", W("client/labels.txt"), "--out", out});
  }

  // Arguments of a server's subcommand; an empty option means the right one.
  struct Files {
    std::string model = {}, keys = {}, gallery = {};
    std::vector<std::string> samples = {};
  };
  static Args Serve(const std::string& subcommand, const Args& more, const Files& files) {
    auto or_else = [](const std::string& value, const std::string& usual) {
      return value.empty() ? W(usual) : value;
    };
    Args args = {subcommand,
                 "--model",
                 or_else(files.model, "owner/model.heft"),
                 "--keys",
                 or_else(files.keys, "owner/keys/evaluation.keys"),
                 "--gallery",
                 or_else(files.gallery, "server/gallery")};
    const std::vector<std::string> usual = {W("client/face.ct"), W("client/voice.ct")};
    for (const std::string& path : files.samples.empty() ? usual : files.samples) {
      args.insert(args.end(), {"--in", path});
    }
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static Args Serve(const std::string& subcommand, const Args& more = {}) {
    return Serve(subcommand, more, Files());
  }
  static Args EncryptArgs(const std::string& in, const Args& more = {}) {
    Args args = {"encrypt",
                 "--model",
                 W("owner/model.heft"),
                 "--key",
                 W("owner/keys/encryption.key"),
                 "--modality",
                 "face",
                 "--in",
                 in,
                 "--out",
                 W("client/new.ct")};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // The same with another value of an option.
  static Args With(Args args, const std::string& option, const std::string& value) {
    const auto it = std::find(args.begin(), args.end(), option);
    EXPECT_NE(it, args.end()) << option;
    *(it + 1) = value;
    return args;
  }
  static Args DecryptArgs(const std::string& in, const Args& more = {}) {
    Args args = {
        "decrypt", "--model", W("owner/model.heft"), "--secret-key", W("owner/keys/secret.key"),
        "--in",    in};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // A file of this test with the given content.
  static std::string File(const std::string& name, const std::string& content) {
    const std::string path =
        W("client/" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
          "-" + name);
    Spill(path, content);
    return path;
  }
  // A copy of the gallery.
  static std::string GalleryCopy(const std::string& name) {
    std::filesystem::copy(W("server/gallery"), W("server/" + name));
    return W("server/" + name);
  }
  static std::string Block(const std::string& gallery) {
    for (const auto& entry : std::filesystem::directory_iterator(gallery)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("block-", 0) == 0) return entry.path().string();
    }
    ADD_FAILURE() << "no block in " << gallery;
    return "";
  }

  // The arguments must be refused with this code and one line that holds every given text.
  static void Refused(const char* program, const Args& args, int code,
                      const std::vector<std::string>& texts) {
    std::string line;
    for (const std::string& arg : args) line += arg + " ";
    SCOPED_TRACE(line);
    const auto before = Snapshot(work_->root());
    const Finished run = RunProgram(program, args);
    EXPECT_EQ(run.exit_code, code) << "signal " << run.signal << "\n" << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(Lines(run.err), 1u) << run.err;
    EXPECT_THAT(run.err, StartsWith("heft: "));
    for (const std::string& text : texts) EXPECT_THAT(run.err, HasSubstr(text));
    EXPECT_EQ(Snapshot(work_->root()), before) << "files have changed";
  }

  static Workplace* work_;
};

Workplace* WrongInputTest::work_;

TEST_F(WrongInputTest, EmptyFiles) {
  const std::string empty = File("empty", "");
  Refused(kServer, Serve("enrol", {}, {.samples = {empty}}), kInput, {empty, "empty"});
  Refused(kServer, Serve("enrol", {}, {.model = empty}), kInput, {empty, "empty"});
  Refused(kServer, Serve("enrol", {}, {.keys = empty}), kInput, {empty, "empty"});
  Refused(kHeft, DecryptArgs(empty), kInput, {empty, "empty"});
  Refused(kHeft, EncryptArgs(empty), kInput, {empty, "empty"});
  Refused(kHeft, {"inspect", empty}, kInput, {empty, "empty"});
  Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--labels", empty}), kInput, {empty});
}

TEST_F(WrongInputTest, TruncatedFiles) {
  const std::string sample = File("face.ct", Truncated(Slurp(W("client/face.ct"))));
  for (const char* subcommand : {"enrol", "identify"}) {
    Args out = {"--out", W("server/new.ct")};
    if (subcommand == std::string("enrol")) out.clear();
    Refused(kServer, Serve(subcommand, out, {.samples = {sample}}), kInput, {sample, "truncated"});
  }
  const std::string few = File("few.ct", Slurp(W("client/face.ct")).substr(0, 10));
  Refused(kServer, Serve("enrol", {}, {.samples = {few}}), kInput, {few, "not a HEFT file"});
  const std::string scores = File("scores.ct", Truncated(Slurp(W("server/scores.ct"))));
  Refused(kHeft, DecryptArgs(scores), kInput, {scores, "truncated"});
  const std::string keys = File("keys", Truncated(Slurp(W("owner/keys/evaluation.keys"))));
  Refused(kServer, Serve("enrol", {}, {.keys = keys}), kInput, {keys, "truncated"});
  const std::string npy = File("face.npy", Truncated(Slurp(W("client/face.npy"))));
  Refused(kHeft, EncryptArgs(npy), kInput, {npy});
}

TEST_F(WrongInputTest, FlippedBytes) {
  for (const size_t from_end : {size_t{1}, size_t{40}, size_t{100000}}) {
    const std::string good = Slurp(W("client/face.ct"));
    const std::string sample = File("face.ct", Flipped(good, good.size() - from_end));
    Refused(kServer, Serve("enrol", {}, {.samples = {sample}}), kInput, {sample, "checksum"});
  }
  const std::string good = Slurp(W("server/scores.ct"));
  const std::string scores = File("scores.ct", Flipped(good, good.size() / 2));
  Refused(kHeft, DecryptArgs(scores), kInput, {scores, "checksum"});
  const std::string key = File("key", Flipped(Slurp(W("owner/keys/encryption.key")), 5000));
  Refused(kHeft,
          {"encrypt", "--model", W("owner/model.heft"), "--key", key, "--modality", "face", "--in",
           W("client/face.npy"), "--out", W("client/new.ct")},
          kInput, {key, "checksum"});
  const std::string model = File("model", Flipped(Slurp(W("owner/model.heft")), 300));
  Refused(kHeft, {"keygen", "--model", model, "--out", W("owner/new")}, kInput,
          {model, "checksum"});
  Refused(kHeft, {"inspect", model}, kInput, {model, "checksum"});
}

TEST_F(WrongInputTest, NotANumberOrInfinity) {
  std::string row = "0.5";
  for (int i = 1; i < 24; ++i) row += " 0.25";
  for (const char* bad : {"nan", "inf", "-inf", "1e999"}) {
    const std::string text = File("face.txt", row + "\n" + bad + row.substr(3) + "\n");
    Refused(kHeft, EncryptArgs(text), kInput,
            {text, "row 1", bad == std::string("nan") ? "NaN" : "infinity"});
  }
  const std::string word = File("word.txt", "abc" + row.substr(3) + "\n");
  Refused(kHeft, EncryptArgs(word), kInput, {word, "not a number"});
  std::string zero = "0";
  for (int i = 1; i < 24; ++i) zero += " 0";
  const std::string zeros = File("zero.txt", row + "\n" + zero + "\n");
  Refused(kHeft, EncryptArgs(zeros), kInput, {"row 1", "length 0"});
  Refused(kHeft, EncryptArgs(zeros, {"--label", "x"}), kInput, {"row 1", "length 0"});
  // In .npy, behind a good header.
  for (const uint32_t bits : {0x7fc00000u, 0x7f800000u}) {
    std::string npy = Slurp(W("data/face.npy"));
    for (int i = 0; i < 4; ++i) npy[npy.size() - 4 + i] = static_cast<char>(bits >> (8 * i));
    const std::string path = File("face.npy", npy);
    Refused(kHeft, EncryptArgs(path), kInput, {path, "row 59"});
  }
}

TEST_F(WrongInputTest, WrongDimension) {
  Refused(kHeft, EncryptArgs(W("data/voice.npy")), kInput, {"16", "24", "face"});
  const std::string uneven = File("face.txt", "1 2 3\n1 2\n");
  Refused(kHeft, EncryptArgs(uneven), kInput, {uneven, "row 1"});
  // Samples of a model of other dimensions.
  Refused(kServer, Serve("enrol", {}, {.samples = {W("client/small.ct")}}), kInput,
          {W("client/small.ct"), "dimension 4", "24"});
}

TEST_F(WrongInputTest, OtherKeyOrParameters) {
  for (const char* subcommand : {"enrol", "identify", "verify"}) {
    Args more;
    if (subcommand != std::string("enrol")) more = {"--out", W("server/new.ct")};
    if (subcommand == std::string("verify")) more.insert(more.end(), {"--identity", "0"});
    Refused(kServer, Serve(subcommand, more, {.samples = {W("client/stranger.ct")}}), kInput,
            {"another key"});
    Refused(kServer, Serve(subcommand, more, {.samples = {W("client/pq.ct")}}), kInput,
            {W("client/pq.ct"), "other parameters"});
  }
  // Two files that do not belong together.
  Refused(kServer, Serve("enrol", {}, {.samples = {W("client/voice.ct"), W("client/stranger.ct")}}),
          kInput, {W("client/stranger.ct"), "another key"});
  // Keys of other parameters.
  const std::string pq_keys = W("owner/pq/evaluation.keys");
  Refused(kServer, Serve("enrol", {}, {.keys = pq_keys}), kInput, {pq_keys, "other parameters"});
  Refused(kHeft,
          {"encrypt", "--model", W("owner/model.heft"), "--key", W("owner/pq/encryption.key"),
           "--modality", "face", "--in", W("client/face.npy"), "--out", W("client/new.ct")},
          kInput, {W("owner/pq/encryption.key"), "other parameters"});
  for (const char* owner : {"stranger", "pq"}) {
    Refused(kHeft,
            {"decrypt", "--model", W("owner/model.heft"), "--secret-key",
             W("owner/" + std::string(owner) + "/secret.key"), "--in", W("server/scores.ct")},
            kInput, {owner == std::string("pq") ? "other parameters" : "another key"});
  }
}

TEST_F(WrongInputTest, EvaluationKeysLackARotation) {
  const std::string few = W("owner/few/evaluation.keys");
  Refused(kServer, Serve("enrol", {}, {.keys = few}), kInput, {"lack the rotation", "heft keygen"});
  Refused(kServer, Serve("identify", {"--out", W("server/new.ct")}, {.keys = few}), kInput,
          {"lack the rotation", "heft keygen"});
}

TEST_F(WrongInputTest, UnknownNames) {
  Refused(kServer, Serve("verify", {"--identity", "eve", "--out", W("server/new.ct")}), kInput,
          {"unknown identity", "eve"});
  // Names are quoted on one line, whatever they hold.
  Refused(kServer, Serve("verify", {"--identity", "a\nb\x1b[2J", "--out", W("server/new.ct")}),
          kInput, {"unknown identity", "a\\x0ab\\x1b[2J"});
  Refused(kHeft, With(EncryptArgs(W("client/face.npy")), "--modality", "gait"), kInput,
          {"no modality", "gait", "face", "voice"});
  Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--label", "a\tb"}), kInput, {"control"});
  Refused(kServer, Serve("enrol", {"--identity", "a\tb"}), kInput, {"control"});
  Refused(kServer, Serve("enrol", {"--identity", std::string(256, 'x')}), kInput, {"255 bytes"});
  Refused(kHeft, TrainArgs(W("data"), W("owner/new.heft"), {"--recipe", "secret"}), kInput,
          {"secret", "generalising"});
  Refused(kHeft, TrainArgs(W("data"), W("owner/new.heft"), {"--profile", "tiny"}), kInput,
          {"tiny", "compact-pq"});
  // The paper's profiles are for the paper's methods.
  for (const char* profile : {"paper", "deep", "deepest"}) {
    Refused(kHeft, TrainArgs(W("data"), W("owner/new.heft"), {"--profile", profile}), kInput,
            {profile, "there are compact, compact-pq\n"});
  }
}

TEST_F(WrongInputTest, NamesThatDeceive) {
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

TEST_F(WrongInputTest, NotesInADataFolder) {
  std::filesystem::copy(W("data"), W("noted"));
  Spill(W("noted/notes.txt"), "Recorded by\x1b[2J nobody.\n");
  const Finished run = RunProgram(kHeft, TrainArgs(W("noted"), W("noted/model.heft")));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, StartsWith("heft: no modality, because it does not begin with a number: "
                                  "notes.txt\n"));
  EXPECT_EQ(Must(kHeft, {"inspect", W("noted/model.heft")})["modalities"].size(), 2u);
}

TEST_F(WrongInputTest, ManySamplesHintAtBulk) {
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
  EXPECT_THAT(probe.err, HasSubstr("bulk"));
}

TEST_F(WrongInputTest, OtherModelsGallery) {
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
                {.model = W("owner/pq.heft"),
                 .keys = W("owner/pq/evaluation.keys"),
                 .samples = {W("client/pq.ct")}}),
          kInput, {"other parameters"});
  Refused(kHeft,
          {"decrypt", "--model", W("owner/other.heft"), "--secret-key", W("owner/keys/secret.key"),
           "--in", W("server/scores.ct")},
          kInput, {W("server/scores.ct"), "another model"});
}

TEST_F(WrongInputTest, FilesThatAreNotThere) {
  const std::string none = W("client/none");
  Refused(kServer, Serve("enrol", {}, {.model = none}), kInput, {none, "No such file"});
  Refused(kServer, Serve("enrol", {}, {.keys = none}), kInput, {none, "No such file"});
  Refused(kServer, Serve("enrol", {}, {.samples = {none}}), kInput, {none, "No such file"});
  Refused(kServer, Serve("identify", {"--out", W("server/new.ct")}, {.gallery = none}), kInput,
          {none, "No such file"});
  Refused(kHeft, DecryptArgs(none), kInput, {none, "No such file"});
  Refused(kHeft, EncryptArgs(none), kInput, {none, "No such file"});
  Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--labels", none}), kInput,
          {none, "No such file"});
  Refused(kHeft, {"inspect", none}, kInput, {none, "No such file"});
  Refused(kHeft, TrainArgs(none, W("owner/new.heft")), kInput, {none});
  Refused(kHeft, TrainArgs(W("data"), W("nowhere/new.heft")), kInput, {W("nowhere")});
  // A file where a folder should be.
  const std::string below = W("client/face.ct/x");
  Refused(kServer, Serve("enrol", {}, {.samples = {below}}), kInput, {below});
}

TEST_F(WrongInputTest, FoldersInPlaceOfFilesAndBack) {
  const std::string folder = W("data");
  Refused(kServer, Serve("enrol", {}, {.model = folder}), kInput, {folder, "directory"});
  Refused(kServer, Serve("enrol", {}, {.samples = {folder}}), kInput, {folder, "directory"});
  Refused(kHeft, DecryptArgs(folder), kInput, {folder, "directory"});
  Refused(kHeft, EncryptArgs(folder), kInput, {folder, "directory"});
  Refused(kServer, Serve("enrol", {}, {.gallery = W("client/face.ct")}), kInput,
          {W("client/face.ct"), "folder"});
  Refused(kHeft, {"inspect", folder}, kInput, {folder});
  Refused(kHeft, {"synth", "--out", folder, "--identities", "5"}, kInput,
          {folder, "holds a data set already"});
}

TEST_F(WrongInputTest, LabelsThatDoNotFit) {
  const std::string two = File("labels", "ann\nbob\n");
  Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--labels", two}), kInput, {"2 labels", "3"});
  const std::string other = File("other", "x\ny\nz\n");
  Must(kHeft, {"encrypt", "--model", W("owner/model.heft"), "--key", W("owner/keys/encryption.key"),
               "--modality", "voice", "--in", W("client/voice.npy"), "--labels", other, "--out",
               W("client/xyz.ct")});
  Refused(kServer, Serve("enrol", {}, {.samples = {W("client/face.ct"), W("client/xyz.ct")}}),
          kInput, {"labelled", "\"x\""});
  Refused(kServer,
          Serve("enrol", {"--all-pairs"}, {.samples = {W("client/face.ct"), W("client/xyz.ct")}}),
          kInput, {"no identity has a sample of every modality"});
  Must(kHeft, {"encrypt", "--model", W("owner/model.heft"), "--key", W("owner/keys/encryption.key"),
               "--modality", "voice", "--in", W("client/voice.npy"), "--row", "0", "--out",
               W("client/unlabelled.ct")});
  Refused(kServer, Serve("enrol", {}, {.samples = {W("client/unlabelled.ct")}}), kInput, {"label"});
  Refused(kServer,
          Serve("enrol", {}, {.samples = {W("client/face.ct"), W("client/unlabelled.ct")}}), kInput,
          {"1 samples", "3"});
  Refused(kServer, Serve("enrol", {}, {.samples = {W("client/face.ct"), W("client/face.ct")}}),
          kInput, {"two files of modality face"});
}

TEST_F(WrongInputTest, RowsOutOfRange) {
  Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--row", "3"}), kInput, {"row 3", "has 3"});
  Refused(kServer, Serve("identify", {"--row", "3", "--out", W("server/new.ct")}), kInput,
          {"sample 3", "has 3"});
  Refused(kServer, Serve("verify", {"--row", "99", "--identity", "0", "--out", W("server/new.ct")}),
          kInput, {"sample 99", "has 3"});
}

TEST_F(WrongInputTest, SwappedFiles) {
  Refused(kServer, Serve("enrol", {}, {.samples = {W("owner/keys/encryption.key")}}), kInput,
          {"PUBK", "CTXT"});
  Refused(kServer, Serve("enrol", {}, {.keys = W("owner/keys/encryption.key")}), kInput,
          {"PUBK", "EVAL"});
  Refused(kServer, Serve("enrol", {}, {.model = W("client/face.ct")}), kInput, {"CTXT", "MODL"});
  Refused(kServer, Serve("enrol", {}, {.model = W("client/face.npy")}), kInput,
          {"not a HEFT file"});
  Refused(kHeft, DecryptArgs(W("client/face.ct")), kInput, {"CTXT", "SCOR"});
  Refused(kHeft, EncryptArgs(W("client/face.ct")), kInput, {W("client/face.ct")});
  Refused(kHeft,
          {"decrypt", "--model", W("owner/model.heft"), "--secret-key",
           W("owner/keys/encryption.key"), "--in", W("server/scores.ct")},
          kInput, {"PUBK", "SECK"});
  // A secret key must not be taken for a public one.
  Refused(kHeft,
          {"encrypt", "--model", W("owner/model.heft"), "--key", W("owner/keys/secret.key"),
           "--modality", "face", "--in", W("client/face.npy"), "--out", W("client/new.ct")},
          kInput, {"SECK", "PUBK"});
}

TEST_F(WrongInputTest, SecretKeys) {
  // Onto existing keys.
  Refused(kHeft, {"keygen", "--model", W("owner/model.heft"), "--out", W("owner/keys")}, kInput,
          {W("owner/keys/secret.key"), "never overwritten"});
  // Readable by others.
  std::filesystem::copy(W("owner/keys/secret.key"), W("owner/open.key"));
  ASSERT_EQ(chmod(W("owner/open.key").c_str(), 0644), 0);
  Refused(kHeft,
          {"decrypt", "--model", W("owner/model.heft"), "--secret-key", W("owner/open.key"), "--in",
           W("server/scores.ct")},
          kInput, {W("owner/open.key"), "chmod 600"});
  // Passphrases.
  const std::string right = File("right", "right\n"), wrong = File("wrong", "wrong\n"),
                    blank = File("blank", "\n");
  Refused(kHeft,
          {"keygen", "--model", W("owner/model.heft"), "--out", W("owner/new"), "--passphrase-file",
           blank},
          kInput, {blank, "empty passphrase"});
  Keygen("model", "sealed", {"--passphrase-file", right});
  // Sealed or not: a passphrase can be guessed.
  std::filesystem::copy(W("owner/sealed/secret.key"), W("owner/open-sealed.key"));
  ASSERT_EQ(chmod(W("owner/open-sealed.key").c_str(), 0640), 0);
  Refused(kHeft,
          {"decrypt", "--model", W("owner/model.heft"), "--secret-key", W("owner/open-sealed.key"),
           "--passphrase-file", right, "--in", W("server/scores.ct")},
          kInput, {W("owner/open-sealed.key"), "chmod 600"});
  const Args decrypt = {"decrypt",
                        "--model",
                        W("owner/model.heft"),
                        "--secret-key",
                        W("owner/sealed/secret.key"),
                        "--in",
                        W("server/scores.ct")};
  Args with_wrong = decrypt, with_none = decrypt;
  with_wrong.insert(with_wrong.end(), {"--passphrase-file", wrong});
  with_none.insert(with_none.end(), {"--passphrase-file", W("owner/none")});
  Refused(kHeft, with_wrong, kInput, {W("owner/sealed/secret.key"), "wrong passphrase"});
  Refused(kHeft, with_none, kInput, {W("owner/none"), "No such file"});
  const std::string damaged = File("damaged.key", Flipped(Slurp(W("owner/keys/secret.key")), 500));
  ASSERT_EQ(chmod(damaged.c_str(), 0600), 0);
  Refused(kHeft,
          {"decrypt", "--model", W("owner/model.heft"), "--secret-key", damaged, "--in",
           W("server/scores.ct")},
          kInput, {damaged, "checksum"});
}

TEST_F(WrongInputTest, ThresholdsThatTheModelLacks) {
  Refused(kHeft, DecryptArgs(W("server/scores.ct"), {"--fmr", "0.123"}), kInput,
          {"no threshold for FMR 0.123", "it has"});
  Refused(kHeft, DecryptArgs(W("server/scores.ct"), {"--fmr", "0"}), kInput, {"no threshold"});
  Refused(kHeft, DecryptArgs(W("server/scores.ct"), {"--threshold", "nan"}), kInput, {"finite"});
}

TEST_F(WrongInputTest, DamagedGalleries) {
  const Args identify_out = {"--quiet", "--out", W("server/new.ct")};
  auto all_refuse = [&](const std::string& gallery, const std::string& text) {
    Refused(kServer, Serve("identify", identify_out, {.gallery = gallery}), kInput, {text});
    Refused(kServer, Serve("enrol", {"--quiet"}, {.gallery = gallery}), kInput, {text});
    Refused(kServer, {"inspect", gallery}, kInput, {text});
  };
  std::string gallery = GalleryCopy("flipped-block");
  Spill(Block(gallery), Flipped(Slurp(Block(gallery)), 70000));
  all_refuse(gallery, "checksum");
  gallery = GalleryCopy("truncated-block");
  Spill(Block(gallery), Truncated(Slurp(Block(gallery))));
  all_refuse(gallery, "truncated");
  gallery = GalleryCopy("no-block");
  std::filesystem::remove(Block(gallery));
  all_refuse(gallery, "No such file");
  gallery = GalleryCopy("flipped-manifest");
  Spill(gallery + "/manifest.heft", Flipped(Slurp(gallery + "/manifest.heft"), 100));
  all_refuse(gallery, "checksum");
  gallery = GalleryCopy("empty-manifest");
  Spill(gallery + "/manifest.heft", "");
  all_refuse(gallery, "empty");
  // Blocks whose manifest is gone must not be taken for an empty folder and removed.
  gallery = GalleryCopy("no-manifest");
  std::filesystem::remove(gallery + "/manifest.heft");
  all_refuse(gallery, "manifest.heft");
}

TEST_F(WrongInputTest, OutputThatCannotBeWritten) {
  // Below a file, where nobody may write, root included; and in a folder that is not there.
  const std::string below = W("client/face.ct/new");
  Refused(kHeft, With(EncryptArgs(W("client/face.npy")), "--out", below), kSystem, {below});
  Refused(kServer, Serve("identify", {"--quiet", "--out", below}), kSystem, {below});
  Refused(kHeft, {"synth", "--out", below}, kSystem, {below});
  Refused(kHeft, {"keygen", "--quiet", "--model", W("owner/model.heft"), "--out", below}, kSystem,
          {below});
  Refused(kServer, Serve("enrol", {"--quiet"}, {.gallery = below}), kSystem, {below});
  Refused(kHeft, With(EncryptArgs(W("client/face.npy")), "--out", W("nowhere/new.ct")), kInput,
          {W("nowhere/new.ct"), "No such file"});
  // Onto a folder.
  Refused(kHeft, With(EncryptArgs(W("client/face.npy")), "--out", W("data")), kSystem, {W("data")});
}

TEST_F(WrongInputTest, UsageErrors) {
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

TEST_F(WrongInputTest, HelpShowsAnExampleAndVersionsAreTold) {
  const std::vector<std::string> all = {"synth",    "train",  "keygen",  "encrypt",      "enrol",
                                        "identify", "verify", "decrypt", "evaluate",     "inspect",
                                        "bench",    "budget", "rekey",   "rekey-gallery"};
  for (const std::string& subcommand : all) {
    const Finished run = RunProgram(kHeft, {subcommand, "--help"});
    EXPECT_EQ(run.exit_code, 0) << subcommand;
    EXPECT_THAT(run.out, HasSubstr("Example:\n  heft " + subcommand + " ")) << subcommand;
    EXPECT_THAT(run.out, HasSubstr("--json")) << subcommand;
    EXPECT_EQ(run.err, "") << subcommand;
  }
  for (const char* program : {kHeft, kServer}) {
    const Finished version = RunProgram(program, {"--version"});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_THAT(version.out, StartsWith("heft 0."));
    EXPECT_THAT(RunProgram(program, {"--help"}).out, HasSubstr("Exit codes"));
  }
}

}  // namespace
}  // namespace heft::e2e
