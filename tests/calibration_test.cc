// SPDX-License-Identifier: Apache-2.0
// A model without thresholds gives scores, and refuses decisions with advice. heft calibrate adds
// the thresholds. The model is trained on people A, calibrated on people B and used by people C,
// through the programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "heft/trust.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

constexpr int kSamples = 4;
constexpr int kFirstB = 40, kFirstC = 80, kAsked = 8;

class CalibrationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    const Workplace& w = *work_;
    Must(kHeft, {"synth", "--out", w("all"), "--identities", "100", "--samples", "4",
                 "--dimensions", "24", "16", "--jitter", "0.3", "--within", "0.5"});
    data_ = new Dataset(*LoadDataset(w("all")));
    Divide("A", 0, kFirstB, false);
    Divide("B", kFirstB, kFirstC, true);
    Must(kHeft, TrainArgs(w("A"), w("owner/trained.heft")));
    Model bare = ReadModel(w("owner/trained.heft"));
    bare.tables.clear();
    ASSERT_TRUE(WriteFile(w("owner/bare.heft"), bare.Serialize()).ok());
    Must(kHeft, {"keygen", "--model", w("owner/bare.heft"), "--out", w("owner/keys")});
    RaiseBudget(w("owner/bare.heft"), w("owner/keys/secret.key"));
    Must(kHeft, {"calibrate", "--data", w("B"), "--model", w("owner/bare.heft"), "--out",
                 w("owner/calibrated.heft")});
    std::vector<int> first;
    for (int i = 0; i < kAsked; ++i) first.push_back(RowOf(i, 0));
    Args enrol = {"enrol",
                  "--model",
                  w("owner/bare.heft"),
                  "--keys",
                  w("owner/keys/evaluation.keys"),
                  "--gallery",
                  w("server/gallery")};
    for (const std::string& file : Encrypt(first, "enrol"))
      enrol.insert(enrol.end(), {"--in", file});
    EnrolNow(enrol, w("owner/keys/secret.key"));
  }
  static void TearDownTestSuite() {
    delete data_;
    delete work_;
  }

  // Writes a folder of people. Those `tested` take no part in training.
  static void Divide(const std::string& name, int from, int to, bool tested) {
    std::vector<int> rows;
    for (int row = from * kSamples; row < to * kSamples; ++row) rows.push_back(row);
    Dataset part = SelectRows(*data_, rows);
    if (tested) part.split.assign(rows.size(), Split::kTest);
    ASSERT_TRUE(WriteDataset((*work_)(name), part).ok());
  }
  static int RowOf(int person, int sample) { return (kFirstC + person) * kSamples + sample; }
  // Encrypts these rows; returns a sample file for each modality.
  static std::vector<std::string> Encrypt(const std::vector<int>& rows, const std::string& name) {
    std::vector<std::string> files;
    for (const Modality& m : data_->modalities) {
      const std::string base = (*work_)("client/" + name + "-" + m.name);
      WriteRows(*data_, m.name, rows, base + ".npy", base + ".labels");
      EncryptBoth({"encrypt", "--model", (*work_)("owner/bare.heft"), "--key",
                   (*work_)("owner/keys/encryption.key"), "--modality", m.name, "--in",
                   base + ".npy", "--labels", base + ".labels", "--out", base + ".ct"});
      files.push_back(base + ".ct");
    }
    return files;
  }
  // The server's reply to a sample. `more`: further options of "identify" or "verify".
  static std::string Ask(const std::string& verb, int row, const Args& more = {}) {
    const std::string out = (*work_)("owner/reply.ct");
    std::filesystem::remove(out);
    Args args = {verb,
                 "--model",
                 (*work_)("owner/bare.heft"),
                 "--keys",
                 (*work_)("owner/keys/evaluation.keys"),
                 "--gallery",
                 (*work_)("server/gallery"),
                 "--out",
                 out};
    for (const std::string& file : Encrypt({row}, "probe")) args.insert(args.end(), {"--in", file});
    args.insert(args.end(), more.begin(), more.end());
    Must(kServer, WithProbes(args));
    return out;
  }
  static Args Decrypt(const std::string& model, const std::string& reply, const Args& more) {
    Args args = {"decrypt",
                 "--model",
                 (*work_)("owner/" + model),
                 "--secret-key",
                 (*work_)("owner/keys/secret.key"),
                 "--in",
                 reply};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }

  static Workplace* work_;
  static Dataset* data_;
};
Workplace* CalibrationTest::work_ = nullptr;
Dataset* CalibrationTest::data_ = nullptr;

TEST_F(CalibrationTest, WithoutThresholdsDecisionsAreRefusedAndScoresAreThere) {
  const std::string search = Ask("identify", RowOf(0, 1));
  for (const Args& how : {Args{"--fpir", "1e-1"}, Args{"--fpir", "1e-1", "--scores"}}) {
    const Finished run = RunProgram(kHeft, Decrypt("bare.heft", search, how));
    EXPECT_EQ(run.exit_code, kInput);
    EXPECT_THAT(run.err, HasSubstr("heft calibrate --data"));
    EXPECT_EQ(run.out, "");
  }
  const nlohmann::json scores =
      Must(kHeft, Decrypt("bare.heft", search, {"--scores", "--top", "3"}));
  EXPECT_EQ(scores["candidates"].size(), 3u);
  const std::string claim = Ask("verify", RowOf(0, 1), {"--identity", data_->labels[RowOf(0, 0)]});
  for (const Args& how : {Args{"--fmr", "1e-1"}, Args{"--fmr", "1e-1", "--scores"}}) {
    const Finished run = RunProgram(kHeft, Decrypt("bare.heft", claim, how));
    EXPECT_EQ(run.exit_code, kInput);
    EXPECT_THAT(run.err, HasSubstr("heft calibrate --data"));
  }
  // A decision at the caller's own threshold needs nothing that the model lacks.
  const nlohmann::json decided = Must(kHeft, Decrypt("bare.heft", claim, {"--threshold", "-1"}));
  EXPECT_EQ(decided["accepted"], true) << decided;
  const Finished told = RunProgram(kHeft, {"inspect", (*work_)("owner/bare.heft")});
  EXPECT_THAT(told.out, HasSubstr("no decision tables"));
}

// Keys, samples and gallery were made with the model before its calibration.
TEST_F(CalibrationTest, ACalibratedModelDecidesOfTheSameGallery) {
  int right = 0, wrong = 0;
  for (int person = 0; person < 2 * kAsked; ++person) {
    const nlohmann::json said = Must(
        kHeft, Decrypt("calibrated.heft", Ask("identify", RowOf(person, 1)), {"--fpir", "1e-1"}));
    if (said["accepted"] != true) continue;
    const bool enrolled = person < kAsked;
    ++(enrolled && said["identity"] == data_->labels[RowOf(person, 0)] ? right : wrong);
  }
  EXPECT_GE(right, kAsked / 2);
  EXPECT_LE(wrong, kAsked / 2);
  const nlohmann::json claim =
      Must(kHeft, Decrypt("calibrated.heft",
                          Ask("verify", RowOf(1, 1), {"--identity", data_->labels[RowOf(1, 0)]}),
                          {"--fmr", "1e-1"}));
  EXPECT_TRUE(claim.contains("accepted")) << claim;
}

TEST_F(CalibrationTest, SaysWhatItDid) {
  const Workplace& w = *work_;
  const nlohmann::json told =
      Must(kHeft, {"calibrate", "--data", w("B"), "--model", w("owner/trained.heft"), "--out",
                   w("owner/again.heft")});
  EXPECT_EQ(told["people"], kFirstC - kFirstB);
  EXPECT_EQ(told["tables"], 3);
  EXPECT_EQ(told["out"], w("owner/again.heft"));
  const Model trained = ReadModel(w("owner/trained.heft"));
  const Model again = ReadModel(w("owner/again.heft"));
  EXPECT_EQ(again.Id(), trained.Id());
  EXPECT_NE(again.DecisionId(), trained.DecisionId());
  EXPECT_EQ(again.tables, ReadModel(w("owner/calibrated.heft")).tables);
  // With few people, the warning is on stderr and the file is written.
  Divide("few", kFirstB, kFirstB + 10, true);
  const Finished few = RunProgram(kHeft, {"calibrate", "--data", w("few"), "--model",
                                          w("owner/trained.heft"), "--out", w("owner/few.heft")});
  EXPECT_EQ(few.exit_code, 0) << few.err;
  EXPECT_THAT(few.err, HasSubstr("the threshold for FMR 0.01 rests on"));
  EXPECT_THAT(few.out, HasSubstr("from 10 people with 40 samples"));
}

TEST_F(CalibrationTest, RefusesWithoutLeavingAFile) {
  const Workplace& w = *work_;
  Divide("nine", kFirstB, kFirstB + 9, true);
  Divide("trained-on", 0, kFirstB, true);
  for (const auto& [data, why] :
       std::vector<std::pair<std::string, std::string>>{{"nine", "10 are needed"},
                                                        {"trained-on", "trained the model"},
                                                        {"nowhere", "nowhere"}}) {
    const Finished run =
        RunProgram(kHeft, {"calibrate", "--data", w(data), "--model", w("owner/trained.heft"),
                           "--out", w("owner/refused.heft")});
    EXPECT_EQ(run.exit_code, kInput) << data;
    EXPECT_THAT(run.err, HasSubstr(why));
    EXPECT_FALSE(FileExists(w("owner/refused.heft"))) << data;
  }
  // In the folder that the model was trained on, people marked train are left out.
  const nlohmann::json others =
      Must(kHeft, {"calibrate", "--data", w("A"), "--model", w("owner/trained.heft"), "--out",
                   w("owner/others.heft")});
  EXPECT_GT(others["people_left_out"], 0) << others;
}

TEST_F(CalibrationTest, IsSignedAsATrainer) {
  const Workplace& w = *work_;
  Must(kHeft, {"trust", "new-key", "--out", w("owner/trainer.key")});
  Must(kHeft, {"calibrate", "--data", w("B"), "--model", w("owner/bare.heft"), "--out",
               w("owner/signed.heft"), "--sign", w("owner/trainer.key")});
  const std::vector<uint8_t> bytes = *ReadFile(w("owner/signed.heft"));
  const auto file = ReadSigned(bytes, "signed.heft");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->statement.role, Role::kTrainer);
}

}  // namespace
}  // namespace heft::e2e
