// SPDX-License-Identifier: Apache-2.0
// Many fused dimensions with the real programs, from the keys of a model to the removal of a
// template.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>

#include "base/files.h"
#include "experiment/random_model.h"
#include "features/dataset.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

// Padded: concatenation of 320 dimensions, with zero rows beyond. Turned: a rotation of few
// dimensions into many.
Model Padded() { return experiment::ConcatenationModel({192, 128}, {0.8, 0.6}); }
Model Random() { return experiment::OrthonormalModel({48, 24}, 1024, 3); }
struct DimensionCase {
  const char* name;
  Model (*model)();
};
void PrintTo(const DimensionCase& c, std::ostream* out) { *out << c.name; }

class DimensionsProgramsTest : public ::testing::TestWithParam<DimensionCase> {
 protected:
  void SetUp() override {
    Args synth = {"synth",        "--out", W("data"),   "--jitter", "1",
                  "--identities", "4",     "--samples", "2",        "--dimensions"};
    model_ = GetParam().model();
    for (const ModalitySpec& m : model_.modalities) synth.push_back(std::to_string(m.dimension));
    Must(kHeft, synth);
    model_.modalities[0].name = "face";
    model_.modalities[1].name = "voice";
    ASSERT_TRUE(WriteFileAtomic(W("model.heft"), model_.Serialize()).ok());
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("keys"), "--no-passphrase"});
    RaiseBudget(W("model.heft"), W("keys/secret.key"));
    data_ = *LoadDataset(W("data"));
  }

  std::string W(const std::string& path) const { return work_(path); }
  static Args Join(Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  void Encrypt(const std::string& name, int row, const Args& more = {}) const {
    for (const std::string modality : {"face", "voice"}) {
      Must(kHeft, Join({"encrypt", "--model", W("model.heft"), "--key", W("keys/encryption.key"),
                        "--modality", modality, "--in", W("data/" + modality + ".npy"), "--labels",
                        W("data/labels.txt"), "--row", std::to_string(row), "--out",
                        W(name + "-" + modality + ".ct")},
                       more));
    }
  }
  Args Gallery(const Args& command, const Args& more) const {
    return Join(Join(command, {"--model", W("model.heft"), "--keys", W("keys/evaluation.keys"),
                               "--gallery", W("gallery")}),
                more);
  }
  Args Serve(const std::string& subcommand, const std::string& samples,
             const Args& more = {}) const {
    const Args files = {"--in", W(samples + "-face.ct"), "--in", W(samples + "-voice.ct")};
    Args args = Join(Gallery({subcommand}, files), more);
    if (subcommand == "identify") return args;
    return Join(args, {"--enrolment-keys", W("keys/enrolment.keys")});
  }
  void Enrol(int row) const {
    Encrypt("enrol", row);
    EnrolNow(Serve("enrol", "enrol"), W("keys/secret.key"));
  }
  // Checks the scores in a server's reply. `rows`: the rows of the templates that must be there.
  void ExpectScores(const std::string& reply, int probe, const std::vector<int>& rows) const {
    const auto opened = Must(kHeft, {"decrypt", "--model", W("model.heft"), "--secret-key",
                                     W("keys/secret.key"), "--in", W(reply), "--scores"});
    EXPECT_EQ(opened["refusal"], "") << opened;
    ASSERT_EQ(opened["candidates"].size(), rows.size()) << opened;
    for (const int row : rows) {
      const auto is = [&](const nlohmann::json& c) { return c["identity"] == data_.labels[row]; };
      const auto found = std::ranges::find_if(opened["candidates"], is);
      ASSERT_NE(found, opened["candidates"].end()) << opened;
      EXPECT_NEAR((*found)["score"].get<double>(), Expected(probe, row), kScoreNoise + kRounding);
    }
  }
  double Expected(int probe, int row) const {
    const auto z = experiment::FusePlain(model_, UnitVectors(data_, probe));
    const auto t = experiment::FusePlain(model_, UnitVectors(data_, row));
    return experiment::Dot(z, t) / std::sqrt(experiment::Dot(z, z));
  }

  const Workplace work_;
  Model model_;
  Dataset data_;
};

TEST_P(DimensionsProgramsTest, FromKeysToARemoval) {
  Must(kServer, {"prepare-keys", "--model", W("model.heft"), "--keys", W("keys/evaluation.keys")});
  // Samples of one identity are adjacent rows.
  Enrol(0);
  Enrol(2);
  ActivatePending(Serve("enrol", "enrol"), W("keys/secret.key"));  // signs folded templates
  Encrypt("probe", 1, {"--for", "identification"});
  Must(kServer, Serve("identify", "probe", {"--out", W("scores.ct")}));
  ExpectScores("scores.ct", 1, {0, 2});
  Encrypt("claim", 3);
  Must(kServer, Serve("verify", "claim", {"--identity", data_.labels[2], "--out", W("claim.ct")}));
  ExpectScores("claim.ct", 3, {2});

  Must(kServer,
       {"reveal", "--gallery", W("gallery"), "--in", W("scores.ct"), "--out", W("scores.seed")});
  for (const std::string file : {"probe-face.ct", "probe-voice.ct"}) {
    work_.Copy(file, "client/" + file);
  }
  const auto audited =
      Must(kServer, Gallery({"audit"}, {"--reply", W("scores.ct"), "--seed", W("scores.seed"),
                                        "--request", W("client")}));
  EXPECT_EQ(audited["wrong"], 0) << audited;

  const Args of_two = {"--identity", data_.labels[2]};
  EXPECT_EQ(Must(kServer, Gallery({"gallery", "remove"}, of_two))["erased"], 1);
  Must(kServer, Serve("identify", "probe", {"--out", W("after.ct")}));
  ExpectScores("after.ct", 1, {0});
}

INSTANTIATE_TEST_SUITE_P(Models, DimensionsProgramsTest,
                         ::testing::Values(DimensionCase{"padded512", Padded},
                                           DimensionCase{"random1024", Random}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace heft::e2e
