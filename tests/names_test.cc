// SPDX-License-Identifier: Apache-2.0
// Names in the programs with default flags: two spellings of a name are one person. A name that
// looks like another one is refused wherever a name can be given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kComposed = "Am\u00e9lie", kDecomposed = "Ame\u0301lie";

class NamesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--identities", "17", "--samples", "3",
                 "--dimensions", "16", "12"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft")));
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("")});
    Must(kHeft, {"trust", "new-key", "--out", W("registrar.key")});
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string W(const std::string& path) { return (*work_)(path); }

  static Args EncryptArgs(const std::string& modality, int row, const Args& more) {
    Args args = {"encrypt",
                 "--model",
                 W("model.heft"),
                 "--key",
                 W("encryption.key"),
                 "--modality",
                 modality,
                 "--in",
                 W("data/" + modality + ".npy"),
                 "--row",
                 std::to_string(row),
                 "--out",
                 W(modality + ".ct")};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // One sample of each modality, under this name.
  static void Encrypt(int row, const std::string& label) {
    Must(kHeft, EncryptArgs("face", row, {"--label", label}));
    std::ofstream labels(W("label.txt"));
    for (int i = 0; i <= row; ++i) labels << label << "\n";
    labels.close();
    Must(kHeft, EncryptArgs("voice", row, {"--labels", W("label.txt")}));
  }
  static Args Serve(const std::string& subcommand, const Args& more) {
    Args args = {subcommand,           "--model",   W("model.heft"), "--keys",
                 W("evaluation.keys"), "--gallery", W("gallery"),    "--in",
                 W("face.ct"),         "--in",      W("voice.ct")};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static void Activate() {
    ActivatePending(
        {"--model", W("model.heft"), "--keys", W("evaluation.keys"), "--gallery", W("gallery")},
        W("secret.key"));
  }
  static void ExpectRefused(const char* program, const Args& args, const std::string& point,
                            int position) {
    const Finished run = RunProgram(program, args);
    EXPECT_EQ(run.exit_code, kInput) << run.out << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err,
                AllOf(HasSubstr(point), HasSubstr("its character " + std::to_string(position))));
  }

  static Workplace* work_;
};

Workplace* NamesTest::work_;

TEST_F(NamesTest, TwoSpellingsAreOnePerson) {
  Encrypt(0, kDecomposed);
  EXPECT_EQ(Must(kServer, Serve("enrol", {}))["pending"], 1);
  Activate();
  RaiseBudget(W("model.heft"), W("secret.key"));
  // An unknown identity would be answered, too, but with a score of a quarter at most.
  for (const std::string& claimed : {kComposed, kDecomposed}) {
    const std::string reply = W("reply" + std::to_string(claimed.size()) + ".ct");
    Must(kServer, Serve("verify", {"--identity", claimed, "--out", reply}));
    Believe(W("trust.heft"), W("gallery"));
    const auto opened = Must(kHeft, {"decrypt", "--model", W("model.heft"), "--secret-key",
                                     W("secret.key"), "--in", reply, "--scores"});
    EXPECT_GT(opened["candidates"][0]["score"], 0.9) << opened;
    EXPECT_EQ(opened["candidates"][0]["identity"], kComposed) << opened;
  }
  // So the other spelling does not avoid the registrar's authorisation for a second template.
  Encrypt(3, kComposed);
  const Finished second = RunProgram(kServer, Serve("enrol", {"--identity", kDecomposed}));
  EXPECT_EQ(second.exit_code, kInput) << second.out;
  EXPECT_THAT(second.err, HasSubstr("is enrolled"));
  EXPECT_EQ(Must(kServer,
                 {"gallery", "remove", "--model", W("model.heft"), "--keys", W("evaluation.keys"),
                  "--gallery", W("gallery"), "--identity", kDecomposed})["removed"],
            1);
}

TEST_F(NamesTest, WhatLooksLikeAnotherNameIsRefused) {
  Encrypt(0, "ann");
  const std::pair<std::string, std::pair<const char*, int>> names[] = {
      {"ann ", {"U+0020", 3}},      {" ann", {"U+0020", 0}},         {"ann\u00a0b", {"U+00A0", 3}},
      {"ann\u200b", {"U+200B", 3}}, {"\u00e9\u200d", {"U+200D", 1}}, {"a\u00adnn", {"U+00AD", 1}},
      {"a\u202enn", {"U+202E", 1}}, {"a\tnn", {"U+0009", 1}}};
  for (const auto& [name, where] : names) {
    const auto& [point, position] = where;
    ExpectRefused(kHeft, EncryptArgs("face", 0, {"--label", name}), point, position);
    ExpectRefused(kServer, Serve("enrol", {"--identity", name}), point, position);
    ExpectRefused(kServer, Serve("verify", {"--identity", name, "--out", W("none.ct")}), point,
                  position);
    ExpectRefused(kHeft,
                  {"authorise", "--key", W("registrar.key"), "--gallery-id",
                   "0123456789abcdef0123456789abcdef", "--identity", name, "--out", W("none.auth")},
                  point, position);
  }
}

}  // namespace
}  // namespace heft::e2e
