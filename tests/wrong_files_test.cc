// SPDX-License-Identifier: Apache-2.0
// Messages of the programs about files that are damaged, misplaced or missing.
#include <sqlite3.h>
#include <sys/stat.h>

#include <functional>

#include "tests/wrong_input.h"

namespace heft::e2e {
namespace {

class WrongFilesTest : public WrongInputTest {};

TEST_F(WrongFilesTest, EmptyFiles) {
  const std::string empty = File("empty", "");
  Refused(kServer, Serve("enrol", {}, {.samples = {empty}}), kInput, {empty, "empty"});
  Refused(kServer, Serve("enrol", {}, {.model = empty}), kInput, {empty, "empty"});
  Refused(kServer, Serve("enrol", {}, {.keys = empty}), kInput, {empty, "empty"});
  Refused(kHeft, DecryptArgs(empty), kInput, {empty, "empty"});
  Refused(kHeft, EncryptArgs(empty), kInput, {empty, "empty"});
  Refused(kHeft, {"inspect", empty}, kInput, {empty, "empty"});
  Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--labels", empty}), kInput, {empty});
}

TEST_F(WrongFilesTest, TruncatedFiles) {
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

TEST_F(WrongFilesTest, FlippedBytes) {
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

TEST_F(WrongFilesTest, NotANumberOrInfinity) {
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
  Refused(kHeft, EncryptArgs(zeros, {"--row", "1"}), kInput, {"row 1: a face vector of length 0"});
  // In .npy, after a valid header.
  for (const uint32_t bits : {0x7fc00000u, 0x7f800000u}) {
    std::string npy = Slurp(W("data/face.npy"));
    for (int i = 0; i < 4; ++i) npy[npy.size() - 4 + i] = static_cast<char>(bits >> (8 * i));
    const std::string path = File("face.npy", npy);
    Refused(kHeft, EncryptArgs(path), kInput, {path, "row 59"});
  }
}

TEST_F(WrongFilesTest, WrongDimension) {
  Refused(kHeft, EncryptArgs(W("data/voice.npy")), kInput, {"16", "24", "face"});
  const std::string uneven = File("face.txt", "1 2 3\n1 2\n");
  Refused(kHeft, EncryptArgs(uneven), kInput, {uneven, "row 1"});
  // Samples of a model with other dimensions.
  Refused(kServer, Serve("enrol", {}, {.samples = {W("client/small.ct")}}), kInput,
          {W("client/small.ct"), "dimension 4", "24"});
}

TEST_F(WrongFilesTest, FilesThatAreNotThere) {
  const std::string none = W("client/none");
  Refused(kServer, Serve("enrol", {}, {.model = none}), kInput, {none, "No such file"});
  Refused(kServer, Serve("enrol", {}, {.keys = none}), kInput, {none, "No such file"});
  Refused(kServer, Serve("enrol", {}, {.samples = {none}}), kInput, {none, "No such file"});
  Refused(kServer, Serve("identify", {"--out", W("server/new.ct")}, {.gallery = none}), kInput,
          {none, "there is no gallery"});
  Refused(kHeft, DecryptArgs(none), kInput, {none, "No such file"});
  Refused(kHeft, EncryptArgs(none), kInput, {none, "No such file"});
  Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--labels", none}), kInput,
          {none, "No such file"});
  Refused(kHeft, {"inspect", none}, kInput, {none, "No such file"});
  Refused(kHeft, TrainArgs(none, W("owner/new.heft")), kInput, {none});
  Refused(kHeft, TrainArgs(W("data"), W("nowhere/new.heft")), kInput, {W("nowhere")});
  // A file instead of a folder.
  const std::string below = W("client/face.ct/x");
  Refused(kServer, Serve("enrol", {}, {.samples = {below}}), kInput, {below});
}

TEST_F(WrongFilesTest, FoldersInPlaceOfFilesAndBack) {
  const std::string folder = W("data");
  Refused(kServer, Serve("enrol", {}, {.model = folder}), kInput, {folder, "directory"});
  Refused(kServer, Serve("enrol", {}, {.samples = {folder}}), kInput, {folder, "directory"});
  Refused(kHeft, DecryptArgs(folder), kInput, {folder, "directory"});
  Refused(kHeft, EncryptArgs(folder), kInput, {folder, "directory"});
  Refused(kServer, Serve("enrol", {}, {.gallery = W("client/face.ct")}), kInput,
          {W("client/face.ct"), "folder"});
  Refused(kHeft, {"inspect", W("owner")}, kInput, {W("owner")});
  Refused(kHeft, {"synth", "--out", folder, "--identities", "5"}, kInput,
          {folder, "holds a data set already"});
}

TEST_F(WrongFilesTest, LabelsThatDoNotFit) {
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

TEST_F(WrongFilesTest, RowsOutOfRange) {
  Refused(kHeft, EncryptArgs(W("client/face.npy"), {"--row", "3"}), kInput, {"row 3", "has 3"});
  Refused(kServer, Serve("identify", {"--row", "3", "--out", W("server/new.ct")}), kInput,
          {"sample 3", "has 3"});
  Refused(kServer, Serve("verify", {"--row", "99", "--identity", "0", "--out", W("server/new.ct")}),
          kInput, {"sample 99", "has 3"});
}

TEST_F(WrongFilesTest, WhichOfSeveralSamplesMustBeSaid) {
  Args identify = Serve("identify", {"--out", W("server/new.ct")});
  identify.erase(std::ranges::find(identify, "--row"), std::ranges::find(identify, "--row") + 2);
  Refused(kServer, identify, kInput,
          {ProbeOf(W("client/face.ct")) + ": holds 3 samples", "--row", "--all"});
  Args verify = Serve("verify", {"--identity", "0", "--out", W("server/new.ct")});
  verify.erase(std::ranges::find(verify, "--row"), std::ranges::find(verify, "--row") + 2);
  Refused(kServer, verify, kInput, {W("client/face.ct") + ": holds 3 samples", "--average"});
}

TEST_F(WrongFilesTest, InspectKnowsWhatPeopleHave) {
  const auto kind = [](const std::string& path) { return Must(kHeft, {"inspect", path})["kind"]; };
  EXPECT_EQ(kind(W("owner/keys/trust.heft")), "trust file");
  EXPECT_EQ(kind(W("server/gallery/server.pub")), "public key");
  EXPECT_EQ(kind(W("client/labels.txt")), "labels");
  Spill(W("split.txt"), "train\ntest\ntrain\n");
  const nlohmann::json split = Must(kHeft, {"inspect", W("split.txt")});
  EXPECT_EQ(split["kind"], "split");
  EXPECT_EQ(split["parts"]["train"], 2);
  std::filesystem::remove(W("split.txt"));
  const nlohmann::json samples = Must(kHeft, {"inspect", W("client/face.ct")});
  EXPECT_EQ(samples["kind"], "encrypted samples");
  EXPECT_EQ(samples["samples"], 3);
  const nlohmann::json vectors = Must(kHeft, {"inspect", W("client/face.npy")});
  EXPECT_EQ(vectors["kind"], "vectors");
  EXPECT_EQ(vectors["rows"], 3);
  EXPECT_EQ(vectors["dimension"], 24);
  const nlohmann::json data = Must(kHeft, {"inspect", W("data")});
  EXPECT_EQ(data["kind"], "data folder");
  EXPECT_EQ(data["identities"], 20);
  EXPECT_EQ(data["samples"], 60);
  EXPECT_EQ(data["modalities"][1]["name"], "voice");
  EXPECT_EQ(Must(kServer, {"inspect", W("owner/keys/trust.heft")})["key-owner"].size(), 1u);
}

TEST_F(WrongFilesTest, SwappedFiles) {
  Refused(kServer, Serve("enrol", {}, {.samples = {W("owner/keys/encryption.key")}}), kInput,
          {"encryption key, not encrypted samples"});
  Refused(kServer, Serve("enrol", {}, {.keys = W("owner/keys/encryption.key")}), kInput,
          {"encryption key, not evaluation keys"});
  Refused(kServer, Serve("enrol", {}, {.model = W("client/face.ct")}), kInput,
          {"encrypted samples, not model"});
  Refused(kServer, Serve("enrol", {}, {.model = W("client/face.npy")}), kInput,
          {"not a HEFT file"});
  Refused(kHeft, DecryptArgs(W("client/face.ct")), kInput,
          {"a file of another kind: encrypted samples, not encrypted scores"});
  Refused(kHeft,
          {"answer", "--model", W("owner/model.heft"), "--secret-key", W("owner/keys/secret.key"),
           "--in", W("client/face.ct"), "--out", W("owner/none")},
          kInput, {"encrypted samples", "heft-server pending or gallery renew"});
  Refused(kServer,
          {"apply", "--model", W("owner/model.heft"), "--keys", W("owner/keys/evaluation.keys"),
           "--gallery", W("server/gallery"), "--in", W("client/face.ct")},
          kInput, {"encrypted samples", "rekeying.key"});
  Refused(kHeft, EncryptArgs(W("client/face.ct")), kInput, {W("client/face.ct")});
  Refused(kHeft,
          {"decrypt", "--model", W("owner/model.heft"), "--secret-key",
           W("owner/keys/encryption.key"), "--in", W("server/scores.ct"), "--threshold", "0.5"},
          kInput, {"signed file, not secret key"});
  // A secret key must not be accepted as a public one.
  Refused(kHeft,
          {"encrypt", "--model", W("owner/model.heft"), "--key", W("owner/keys/secret.key"),
           "--modality", "face", "--in", W("client/face.npy"), "--out", W("client/new.ct")},
          kInput, {"secret key, not encryption key"});
}

class DamagedGalleryTest : public WrongInputTest {
 protected:
  // One more template waits and is activated; all copies of the gallery contain it.
  static void SetUpTestSuite() {
    WrongInputTest::SetUpTestSuite();
    const Args waiting = Serve("enrol", {"--identity", "newcomer"},
                               {.gallery = GalleryCopy("waiting"),
                                .samples = {W("client/new-face.ct"), W("client/new-voice.ct")}});
    for (const char* modality : {"face", "voice"}) {
      Encrypt("model", "keys", modality, W("client/new-" + std::string(modality) + ".ct"));
    }
    Must(kServer, waiting);
    std::filesystem::copy(W("server/waiting"), W("server/undamaged"));
    ActivatePending(waiting, W("owner/keys/secret.key"));
    // The newest end of the journal, so that no later command has to keep it.
    Args head = Release(W("server/undamaged"));
    head.back() = W("owner/keys/journal.head");
    Must(kServer, head);
  }
  // A copy of the gallery with a changed store file.
  static std::string Copy(const std::string& name,
                          const std::function<void(std::string*)>& damage) {
    const std::string gallery = W("server/" + name);
    std::filesystem::copy(W("server/undamaged"), gallery);
    std::string store = Slurp(Store(gallery));
    damage(&store);
    Spill(Store(gallery), store);
    return gallery;
  }
  static Args Identify(const std::string& gallery) {
    return Serve("identify", {"--quiet", "--out", W("server/new.ct")}, {.gallery = gallery});
  }
  static Args Release(const std::string& gallery) {
    return {"apply",
            "--model",
            W("owner/model.heft"),
            "--keys",
            W("owner/keys/evaluation.keys"),
            "--gallery",
            gallery,
            "--in",
            W("server/waiting.admission")};
  }
  static Args Enrol(const std::string& gallery) {
    return Serve("enrol", {"--quiet", "--identity", "another"}, {.gallery = gallery});
  }
  static void AllRefuse(const std::string& gallery, const std::string& text) {
    Refused(kServer, Identify(gallery), kInput, {text});
    Refused(kServer, With(Release(gallery), "--in", W("server/waiting.admission")), kInput, {text});
    Refused(kServer, Enrol(gallery), kInput, {text});
    Refused(kServer, {"inspect", gallery}, kInput, {text});
  }
};

// Damage is reported, and damaged data is not used for answers.
TEST_F(DamagedGalleryTest, FlippedBlocks) {
  const std::string gallery = Copy("flipped-block", [](std::string* store) {
    for (const size_t at : Blocks(*store)) *store = Flipped(std::move(*store), at + 70000);
  });
  Refused(kServer, Identify(gallery), kInput, {"block 0", "damaged", "checksum"});
  Refused(kServer, {"inspect", gallery}, kInput, {"block 0", "damaged"});
  // A template released now gets a place in another block, and is matched.
  const Finished release = RunProgram(kServer, Release(gallery));
  EXPECT_EQ(release.exit_code, 0) << release.err;
  EXPECT_THAT(release.out, HasSubstr("activated 3 templates"));
  const Finished identified = RunProgram(kServer, Identify(gallery));
  EXPECT_EQ(identified.exit_code, 0) << identified.err;
  Refused(kServer, {"inspect", gallery}, kInput, {"block 0", "damaged"});
}

TEST_F(DamagedGalleryTest, ResiduesAboveTheirPrimes) {
  const std::string gallery = Copy("large-residues", [](std::string* store) {
    for (const size_t at : Blocks(*store)) store->replace(at + 112 + 4096, 4, 4, '\xff');
  });
  Refused(kServer, Identify(gallery), kInput, {"block 0", "damaged"});
  Refused(kServer, {"inspect", gallery}, kInput, {"block 0", "damaged"});
}

TEST_F(DamagedGalleryTest, HeadersOfBlocks) {
  // Changes the block's magic, version, number, generation and hash.
  for (const size_t offset : {0, 4, 8, 16, 48}) {
    const std::string gallery = Copy("header-" + std::to_string(offset), [&](std::string* store) {
      for (const size_t at : Blocks(*store)) *store = Flipped(std::move(*store), at + offset);
    });
    Refused(kServer, Identify(gallery), kInput, {"block 0"});
    Refused(kServer, {"inspect", gallery}, kInput, {"block 0"});
  }
}

TEST_F(DamagedGalleryTest, StoresThatAreCutOffOrEmpty) {
  AllRefuse(Copy("half", [](std::string* store) { *store = Truncated(*store); }), "store");
  AllRefuse(Copy("a-page", [](std::string* store) { store->resize(4096); }), "damaged");
  AllRefuse(Copy("empty", [](std::string* store) { store->clear(); }), "damaged");
  AllRefuse(Copy("text", [](std::string* store) { store->assign(1 << 16, 'x'); }), "damaged");
  AllRefuse(Copy("zeros", [](std::string* store) { store->assign(store->size(), 0); }), "damaged");
}

TEST_F(DamagedGalleryTest, StoresOfAnotherVersion) {
  const std::string gallery = Copy("later", [](std::string*) {});
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((gallery + "/store.sqlite").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version = 9", nullptr, nullptr, nullptr),
            SQLITE_OK);
  int keep = 1;  // the log and its index, as HEFT does
  ASSERT_EQ(sqlite3_file_control(database, "main", SQLITE_FCNTL_PERSIST_WAL, &keep), SQLITE_OK);
  sqlite3_close(database);
  AllRefuse(gallery, "version");
}

// A server's key without its store does not count as an empty folder, since data was lost.
TEST_F(DamagedGalleryTest, StoresThatAreGone) {
  const std::string gallery = W("server/gone");
  std::filesystem::copy(W("server/undamaged"), gallery);
  std::filesystem::remove(gallery + "/store.sqlite");
  Refused(kServer, Identify(gallery), kInput, {gallery, "store"});
  Refused(kServer, Release(gallery), kInput, {gallery, "store"});
  Refused(kServer, Enrol(gallery), kInput, {gallery, "but no store"});
  Refused(kServer, {"inspect", gallery}, kInput, {gallery});
}

TEST_F(WrongFilesTest, OutputThatCannotBeWritten) {
  // Below a file, where not even root may write; and in a missing folder.
  const std::string below = W("client/face.ct/new");
  Refused(kHeft, With(EncryptArgs(W("client/face.npy")), "--out", below), kSystem, {below});
  Refused(kServer, Serve("identify", {"--quiet", "--out", below}), kSystem, {below});
  Refused(kHeft, {"synth", "--out", below}, kSystem, {below});
  Refused(kHeft, {"keygen", "--quiet", "--model", W("owner/model.heft"), "--out", below}, kSystem,
          {below});
  Refused(kServer, Serve("enrol", {"--quiet"}, {.gallery = below}), kSystem, {below});
  Refused(kHeft, With(EncryptArgs(W("client/face.npy")), "--out", W("nowhere/new.ct")), kInput,
          {W("nowhere/new.ct"), "No such file"});
  // A folder as output.
  Refused(kHeft, With(EncryptArgs(W("client/face.npy")), "--out", W("data")), kSystem, {W("data")});
}

}  // namespace
}  // namespace heft::e2e
