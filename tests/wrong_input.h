// SPDX-License-Identifier: Apache-2.0
// WrongInputTest: a model, keys, samples and a gallery, and the checks for a program that refuses.
#ifndef HEFT_TESTS_WRONG_INPUT_H_
#define HEFT_TESTS_WRONG_INPUT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/workplace.h"

namespace heft::e2e {

using ::testing::HasSubstr;
using ::testing::StartsWith;


inline std::string Truncated(const std::string& file) { return file.substr(0, file.size() / 2); }
inline std::string Flipped(std::string file, size_t at) {
  file[at] = static_cast<char>(file[at] ^ 0x10);
  return file;
}

// w("owner"): model A and its keys; models of the same dimensions with another seed (other.heft) or
// other parameters (flooded.heft); and one that needs fewer rotations (small.heft). w("client"):
// vectors and samples. w("server/gallery"): three templates.
class WrongInputTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    const Workplace& w = *work_;
    Must(kHeft, {"synth", "--out", w("data"), "--jitter", "1", "--identities", "20", "--samples",
                 "3", "--dimensions", "24", "16"});
    Must(kHeft, {"synth", "--out", w("small"), "--jitter", "1", "--identities", "20", "--samples",
                 "3", "--dimensions", "4", "4"});
    Must(kHeft, TrainArgs(w("data"), w("owner/model.heft")));
    Must(kHeft, TrainArgs(w("data"), w("owner/other.heft"), {"--seed", "2"}));
    Must(kHeft, TrainArgs(w("data"), w("owner/flooded.heft"), {"--profile", "flooded"}));
    Args small = TrainArgs(w("small"), w("owner/small.heft"));
    std::replace(small.begin(), small.end(), std::string("16"), std::string("4"));
    Must(kHeft, small);
    Keygen("model", "keys");
    Keygen("model", "stranger");  // the same parameters, another key
    Keygen("flooded", "flooded");
    Keygen("small", "few", {"--secret-key", w("owner/keys/secret.key")});
    Encrypt("model", "keys", "face", w("client/face.ct"));
    Encrypt("model", "keys", "voice", w("client/voice.ct"));
    Encrypt("model", "stranger", "face", w("client/stranger.ct"));
    Encrypt("flooded", "flooded", "face", w("client/flooded.ct"));
    Encrypt("small", "keys", "face", w("client/small.ct"), "small");
    EnrolNow(Serve("enrol"), w("owner/keys/secret.key"));
    Must(kServer, Serve("identify", {"--out", w("server/scores.ct")}));
    for (const char* keys : {"keys", "stranger", "flooded"}) {
      Believe(W("owner/" + std::string(keys) + "/trust.heft"), W("server/gallery"));
    }
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
    // client/face.npy, but client/small-face.npy for other data sets.
    const std::string npy = W("client/" + (data == "data" ? "" : data + "-") + modality + ".npy");
    WriteRows(dataset, modality, {0, 3, 6}, npy, W("client/labels.txt"));
    EncryptBoth({"encrypt", "--model", W("owner/" + model + ".heft"), "--key",
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
    return WithProbes(WithRow(args));
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
  static Args DecryptArgs(const std::string& in, const Args& more = {"--threshold", "0.5"}) {
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
  static std::string Store(const std::string& gallery) { return gallery + "/store.blocks"; }
  // Where the values of blocks begin in a store's file, replaced blocks included.
  static std::vector<size_t> Blocks(const std::string& store) {
    std::vector<size_t> places;
    for (size_t at = store.find("HGBK"); at != store.npos; at = store.find("HGBK", at + 1)) {
      places.push_back(at);
    }
    EXPECT_FALSE(places.empty()) << "no block in the store";
    return places;
  }

  // The arguments must be refused with this code and one line that contains every given text.
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

  inline static Workplace* work_ = nullptr;
};

}  // namespace heft::e2e

#endif  // HEFT_TESTS_WRONG_INPUT_H_
