// SPDX-License-Identifier: Apache-2.0
// The main use, as in the field: key owner, client and server are separate processes in separate
// folders, and only files link them. Results are compared with the same computation on plain
// vectors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/envelope.h"
#include "base/files.h"
#include "features/readers.h"
#include "fusion/testing.h"
#include "heft/train.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RolesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    const Workplace& w = *work_;
    Must(kHeft, {"synth", "--out", w("data"), "--jitter", "1", "--identities", "30", "--samples",
                 "4", "--dimensions", "24", "16"});
    // Some training people lack a modality, so that templates without it have unit length too.
    Must(kHeft, TrainArgs(w("data"), w("owner/model.heft"), {"--drop-modality", "0.3"}));
    Must(kHeft, {"keygen", "--model", w("owner/model.heft"), "--out", w("owner/keys")});
    RaiseBudget(w("owner/model.heft"), w("owner/keys/secret.key"));
    // The only files that a client and a server get.
    w.Copy("owner/model.heft", "client/model.heft");
    w.Copy("owner/keys/encryption.key", "client/encryption.key");
    w.Copy("owner/keys/trust.heft", "client/trust.heft");
    w.Copy("owner/model.heft", "server/model.heft");
    w.Copy("owner/keys/evaluation.keys", "server/evaluation.keys");
    w.Copy("owner/keys/enrolment.keys", "server/enrolment.keys");
    w.Copy("owner/keys/trust.heft", "server/trust.heft");
    data_ = new Dataset(*LoadDataset(w("data")));
    model_ = new Model(ReadModel(w("owner/model.heft")));
  }
  static void TearDownTestSuite() {
    delete model_;
    delete data_;
    delete work_;
  }

  // The name of this test, for its own files.
  static std::string Own(const std::string& name) {
    return std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" +
           name;
  }
  static std::string Path(const std::string& role, const std::string& name) {
    return (*work_)(role + "/" + name);
  }

  // Client: encrypts rows of a modality and sends the file to the server. Returns its path there.
  static std::string Send(const std::string& modality, const std::vector<int>& rows,
                          const std::string& name, bool labelled = true) {
    const std::string file = Own(name + "-" + modality + ".ct");
    const std::string npy = Path("client", file + ".npy");
    WriteRows(*data_, modality, rows, npy, npy + ".labels");
    Args args = {"encrypt",
                 "--model",
                 Path("client", "model.heft"),
                 "--key",
                 Path("client", "encryption.key"),
                 "--modality",
                 modality,
                 "--in",
                 npy,
                 "--out",
                 Path("client", file)};
    if (labelled) args.insert(args.end(), {"--labels", npy + ".labels"});
    EXPECT_EQ(EncryptBoth(args)["samples"], rows.size());
    work_->Copy("client/" + file, "server/" + file);
    work_->Copy("client/" + ProbeOf(file), "server/" + ProbeOf(file));
    return Path("server", file);
  }
  static Args Serve(const std::string& subcommand, const std::vector<std::string>& samples,
                    const Args& more = {}) {
    Args args = {subcommand,
                 "--model",
                 Path("server", "model.heft"),
                 "--keys",
                 Path("server", "evaluation.keys"),
                 "--gallery",
                 Path("server", Own("gallery"))};
    for (const std::string& path : samples) args.insert(args.end(), {"--in", path});
    args.insert(args.end(), more.begin(), more.end());
    return WithProbes(args);
  }
  static nlohmann::json Enrol(const std::vector<std::string>& samples, const Args& more = {}) {
    return EnrolNow(Serve("enrol", samples, more), Path("owner", "keys/secret.key"));
  }
  // The server answers, and the key owner opens.
  static nlohmann::json Ask(const std::string& subcommand, const std::vector<std::string>& samples,
                            const Args& more = {},
                            const Args& decide = {"--scores", "--top", "1000", "--beyond-cap"}) {
    const std::string file = Own("scores.ct");
    Args args = Serve(subcommand, samples, more);
    args.insert(args.end(), {"--out", Path("server", file)});
    Must(kServer, WithRow(args));
    Believe(Path("owner", "keys/trust.heft"), Path("server", Own("gallery")));
    work_->Copy("server/" + file, "owner/" + file);
    return Open(file, decide);
  }
  static nlohmann::json Open(const std::string& file, const Args& decide) {
    Args args = {"decrypt",
                 "--model",
                 Path("owner", "model.heft"),
                 "--secret-key",
                 Path("owner", "keys/secret.key"),
                 "--in",
                 Path("owner", file)};
    args.insert(args.end(), decide.begin(), decide.end());
    return Must(kHeft, args);
  }

  // The template of these rows, one for each modality; -1: missing. Fused(3): the same row for all.
  static std::vector<double> Fused(const std::vector<int>& rows) {
    std::vector<std::vector<double>> vectors;
    for (size_t m = 0; m < rows.size(); ++m) {
      vectors.push_back(rows[m] < 0 ? std::vector<double>() : UnitVectors(*data_, rows[m])[m]);
    }
    return testing::FusePlain(*model_, vectors);
  }
  static std::vector<double> Fused(int row) { return Fused({row, row}); }

  // A plain gallery, as (identity, template).
  using Plain = std::vector<std::pair<std::string, std::vector<double>>>;

  // Every identity must be there once, best first, with the score of its best template. The key
  // owner brings a probe to unit length exactly.
  static void ExpectScores(const nlohmann::json& opened, const std::vector<double>& probe,
                           const Plain& gallery) {
    const double length = std::sqrt(testing::Dot(probe, probe));
    std::map<std::string, std::pair<double, int>> expected;
    for (const auto& [identity, z] : gallery) {
      auto [it, fresh] = expected.try_emplace(identity, -10.0, 0);
      it->second.first = std::max(it->second.first, testing::Dot(probe, z) / length);
      ++it->second.second;
    }
    ASSERT_EQ(opened["candidates"].size(), expected.size()) << opened;
    double previous = 10;
    for (const auto& c : opened["candidates"]) {
      const double score = c["score"];
      const auto it = expected.find(c["identity"]);
      ASSERT_NE(it, expected.end()) << c;
      EXPECT_NEAR(score, it->second.first, kScoreNoise + kRounding) << c;
      EXPECT_EQ(c["templates"], it->second.second) << c;
      EXPECT_LE(score, previous);
      EXPECT_NEAR(score * 1000, std::round(score * 1000), 1e-6) << "not rounded";
      previous = score;
      expected.erase(it);
    }
  }

  static Workplace* work_;
  static Dataset* data_;
  static Model* model_;
};

Workplace* RolesTest::work_;
Dataset* RolesTest::data_;
Model* RolesTest::model_;

TEST_F(RolesTest, EnrolPairedByLabelsIdentifyVerifyDecide) {
  const std::vector<int> rows = {0, 1, 4, 5, 8, 12, 16, 20};
  EXPECT_EQ(Enrol({Send("voice", rows, "enrol"), Send("face", rows, "enrol")})["templates"],
            rows.size());
  Plain gallery;
  for (int row : rows) gallery.emplace_back(data_->labels[row], Fused(row));
  // Enrols in two steps; the second rewrites the block that the first began.
  const std::vector<int> later = {24, 28};
  const auto second = Enrol({Send("face", later, "later"), Send("voice", later, "later")});
  EXPECT_EQ(second["templates"], rows.size() + later.size());
  for (int row : later) gallery.emplace_back(data_->labels[row], Fused(row));

  const std::vector<std::string> probes = {Send("face", {2, 6, 100}, "probe"),
                                           Send("voice", {2, 6, 100}, "probe")};
  int at = 0;
  for (int row : {2, 6, 100}) {
    const auto opened = Ask("identify", probes, {"--row", std::to_string(at++)});
    EXPECT_EQ(opened["kind"], "identification");
    EXPECT_EQ(opened["probe"], data_->labels[row]);
    ExpectScores(opened, Fused(row), gallery);
    EXPECT_EQ(opened["refusal"], "");
    EXPECT_FALSE(opened.contains("accepted"));
  }
  // All of them at once, in both forms of reply; the folder is new.
  for (const Args& form : {Args{}, Args{"--degree-two"}}) {
    const std::string folder = Own(form.empty() ? "all" : "all-degree-two");
    Args args = Serve("identify", probes, form);
    args.insert(args.end(), {"--all", "--out", Path("server", folder)});
    EXPECT_EQ(Must(kServer, args)["replies"], 3);
    for (const auto& entry : std::filesystem::directory_iterator(Path("server", ""))) {
      const std::string name = entry.path().filename().string();
      EXPECT_FALSE(name.rfind(folder + ".", 0) == 0) << name << " is left behind";
    }
    int reply = 0;
    for (int row : {2, 6, 100}) {
      const std::string file = "0000" + std::to_string(reply++) + ".ct";
      work_->Copy("server/" + folder + "/" + file, "owner/" + file);
      const auto opened = Open(file, {"--scores", "--top", "1000", "--beyond-cap"});
      EXPECT_EQ(opened["probe"], data_->labels[row]);
      ExpectScores(opened, Fused(row), gallery);
    }
    EXPECT_EQ(RunProgram(kServer, args).exit_code, 3) << "the folder exists";
  }
  // Encrypts the probe anew: the same probe would give the same reply, which is opened already.
  const auto again = [](const std::string& name) {
    return std::vector<std::string>{Send("face", {2}, name), Send("voice", {2}, name)};
  };
  EXPECT_EQ(Ask("identify", again("top"), {}, {"--scores", "--top", "3"})["candidates"].size(), 3u);
  EXPECT_EQ(Ask("identify", again("any"), {}, {"--scores"})["candidates"].size(), 8u)
      << "all identities";
  // The threshold of a search depends on the gallery's size: eight people, some with two templates.
  const auto found = Ask("identify", again("found"), {}, {"--scores", "--fpir", "0.1"});
  EXPECT_EQ(found["threshold"]["score"],
            model_->ThresholdForSearch(0.1, 8, 2, model_->AllModalities())->score);
  EXPECT_EQ(found["accepted"], found["candidates"][0]["score"] >= found["threshold"]["score"]);
  const auto unnamed = Ask("identify", probes, {"--no-identities"});
  EXPECT_EQ(unnamed["candidates"].size(), rows.size() + later.size());
  EXPECT_EQ(std::string(unnamed["candidates"][0]["identity"])[0], '#');

  // 1:1, with the right identity and with another; the decision follows the threshold.
  for (const std::string& claimed : {data_->labels[2], data_->labels[8]}) {
    Plain of_claimed;
    for (const auto& entry : gallery) {
      if (entry.first == claimed) of_claimed.push_back(entry);
    }
    const auto opened = Ask("verify", probes, {"--identity", claimed});
    EXPECT_EQ(opened["kind"], "verification");
    EXPECT_EQ(opened["claimed"], claimed);
    ExpectScores(opened, Fused(2), of_claimed);
    // Verifies every sample of the files against the same claim, with a reply for each.
    const std::string folder = Own("verify-all-" + claimed);
    const auto all = Must(
        kServer,
        Serve("verify", probes, {"--identity", claimed, "--all", "--out", Path("server", folder)}));
    EXPECT_EQ(all["claimed"], claimed);
    EXPECT_EQ(all["replies"], 3);
    int reply = 0;
    for (int row : {2, 6, 100}) {
      const std::string file = "0000" + std::to_string(reply++) + ".ct";
      work_->Copy("server/" + folder + "/" + file, "owner/" + file);
      ExpectScores(Open(file, {"--scores"}), Fused(row), of_claimed);
    }
    const double score = opened["candidates"][0]["score"];
    // Each reply can be opened only once, so each question needs a new one.
    const auto decide = [&](const std::string& option, const std::string& value) {
      return Ask("verify", probes, {"--identity", claimed}, {"--scores", option, value});
    };
    EXPECT_EQ(decide("--threshold", std::to_string(score - 0.02))["accepted"], true);
    EXPECT_EQ(decide("--threshold", std::to_string(score + 0.02))["accepted"], false);
    for (const double fmr : {0.3, 0.1, 0.06}) {  // 0.06 is between the points of the curve
      const auto decided = decide("--fmr", nlohmann::json(fmr).dump());
      const double threshold = model_->ThresholdFor(fmr, model_->AllModalities())->score;
      EXPECT_EQ(decided["threshold"]["score"], threshold);
      EXPECT_EQ(decided["threshold"]["rate"], fmr);
      EXPECT_EQ(decided["accepted"], decided["candidates"][0]["score"].get<double>() >= threshold);
    }
  }
}

TEST_F(RolesTest, OneIdentityForAllSamplesWithoutLabels) {
  EXPECT_EQ(Enrol({Send("face", {0, 1}, "enrol", false), Send("voice", {0, 1}, "enrol")},
                  {"--identity", "ann"})["templates"],
            2u);
  const auto opened =
      Ask("identify", {Send("face", {2}, "probe", false), Send("voice", {2}, "probe", false)});
  EXPECT_EQ(opened["probe"], "");
  ExpectScores(opened, Fused(2), {{"ann", Fused(0)}, {"ann", Fused(1)}});
}

TEST_F(RolesTest, AllPairsOfUnevenSets) {
  // Two faces and three voices of the first person, and one face and one voice of the second. The
  // third identity has no voice.
  const std::string faces = Send("face", {0, 1, 4, 8}, "enrol");
  const std::string voices = Send("voice", {5, 2, 3, 1}, "enrol");
  EXPECT_EQ(Enrol({faces, voices}, {"--all-pairs"})["templates"], 2u * 3 + 1);
  Plain gallery;
  for (int face : {0, 1}) {
    for (int voice : {1, 2, 3}) gallery.emplace_back(data_->labels[0], Fused({face, voice}));
  }
  gallery.emplace_back(data_->labels[4], Fused({4, 5}));
  ExpectScores(Ask("identify", {Send("face", {7}, "probe"), Send("voice", {7}, "probe")}), Fused(7),
               gallery);
  // With one identity for all, all faces are combined with all voices.
  const std::vector<std::string> anew = {Send("face", {0, 1, 4, 8}, "anew"),
                                         Send("voice", {5, 2, 3, 1}, "anew")};
  EXPECT_EQ(Enrol(anew, {"--all-pairs", "--identity", "everybody"})["templates"],
            2u * 3 + 1 + 4u * 4);
}

TEST_F(RolesTest, OneModalityAlone) {
  Enrol({Send("face", {0, 4}, "enrol")});
  Enrol({Send("face", {8}, "both"), Send("voice", {8}, "both")});
  const Plain gallery = {{data_->labels[0], Fused({0, -1})},
                         {data_->labels[4], Fused({4, -1})},
                         {data_->labels[8], Fused(8)}};
  ExpectScores(Ask("identify", {Send("face", {1}, "probe")}), Fused({1, -1}), gallery);
  ExpectScores(Ask("identify", {Send("voice", {9}, "probe")}), Fused({-1, 9}), gallery);
}

// A probe that lacks a modality is judged by the table of its modalities; without a table it is not
// judged.
TEST_F(RolesTest, AProbeIsJudgedByTheTableOfItsModalities) {
  Enrol({Send("face", {0, 4}, "both"), Send("voice", {0, 4}, "both")});
  const auto face = [] { return std::vector<std::string>{Send("face", {0}, "face")}; };
  const std::string own = data_->labels[0], other = data_->labels[4];
  const double at = model_->ThresholdFor(0.1, 1)->score;
  EXPECT_NE(at, model_->ThresholdFor(0.1, 3)->score);
  const auto mine = Ask("verify", face(), {"--identity", own}, {"--fmr", "0.1"});
  EXPECT_EQ(mine["modalities"], nlohmann::json::array({"face"}));
  EXPECT_EQ(mine["threshold"]["score"], at);
  EXPECT_EQ(mine["accepted"], true) << mine;
  const auto impostor = Ask("verify", face(), {"--identity", other}, {"--fmr", "0.1"});
  EXPECT_EQ(impostor["modalities"], nlohmann::json::array({"face"}));
  EXPECT_EQ(impostor["threshold"]["score"], at);
  EXPECT_EQ(impostor["accepted"], false) << impostor;
  const auto whole = Ask("verify", {Send("face", {0}, "both"), Send("voice", {0}, "both")},
                         {"--identity", own}, {"--fmr", "0.1"});
  EXPECT_EQ(whole["modalities"], nlohmann::json::array({"face", "voice"}));
  EXPECT_EQ(whole["threshold"]["score"], model_->ThresholdFor(0.1, 3)->score);
  EXPECT_EQ(whole["accepted"], true);
  const auto searched = Ask("identify", face(), {}, {"--fpir", "0.1"});
  EXPECT_EQ(searched["threshold"]["score"], model_->ThresholdForSearch(0.1, 2, 1, 1)->score);
  // The same model with a table for complete probes only. A model's id does not depend on its
  // tables.
  Model bare = *model_;
  bare.tables.resize(1);
  ASSERT_TRUE(WriteFileAtomic(Path("owner", "whole.heft"), bare.Serialize()).ok());
  const std::string file = Own("undecided.ct");
  Must(kServer, Serve("verify", face(), {"--identity", own, "--out", Path("server", file)}));
  Believe(Path("owner", "keys/trust.heft"), Path("server", Own("gallery")));
  work_->Copy("server/" + file, "owner/" + file);
  const auto decrypt = [&](const Args& decide) {
    Args args = {"decrypt",
                 "--model",
                 Path("owner", "whole.heft"),
                 "--secret-key",
                 Path("owner", "keys/secret.key"),
                 "--in",
                 Path("owner", file)};
    args.insert(args.end(), decide.begin(), decide.end());
    return args;
  };
  const Finished refused = RunProgram(kHeft, decrypt({"--fmr", "0.1"}));
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("no decision table for probes with face"));
  EXPECT_THAT(refused.err, HasSubstr("heft calibrate --data DATA"));
  EXPECT_EQ(Must(kHeft, decrypt({"--scores"}))["candidates"].size(), 1u)
      << "scores are still there";
  // The server reports templates that lack a modality.
  const auto brought = [&](const std::vector<std::string>& samples) {
    return Must(kServer, Serve("enrol", samples));
  };
  EXPECT_EQ(brought({Send("face", {8}, "part")})["missing"], nlohmann::json::array({"voice"}));
  EXPECT_TRUE(brought({Send("face", {12}, "all"), Send("voice", {12}, "all")})["missing"].empty());
}

TEST_F(RolesTest, ThreeModalities) {
  const Workplace w;
  Must(kHeft, {"synth", "--out", w("data"), "--jitter", "1", "--identities", "20", "--samples", "3",
               "--dimensions", "20", "12", "9"});
  Must(kHeft, TrainArgs(w("data"), w("model.heft")));
  Must(kHeft, {"keygen", "--model", w("model.heft"), "--out", w("owner/keys")});
  RaiseBudget(w("model.heft"), w("owner/keys/secret.key"));
  const Dataset data = *LoadDataset(w("data"));
  const Model model = ReadModel(w("model.heft"));
  Args samples;
  for (const Modality& m : data.modalities) {
    const std::string out = w("client/" + m.name + ".ct");
    EncryptBoth({"encrypt", "--model", w("model.heft"), "--key", w("owner/keys/encryption.key"),
                 "--modality", m.name, "--in", w("data/" + m.name + ".npy"), "--labels",
                 w("data/labels.txt"), "--row", "5", "--out", out});
    samples.insert(samples.end(), {"--in", out});
  }
  const Args base = {"--model",   w("model.heft"),    "--keys", w("owner/keys/evaluation.keys"),
                     "--gallery", w("server/gallery")};
  auto serve = [&](Args args) {
    args.insert(args.end(), base.begin(), base.end());
    args.insert(args.end(), samples.begin(), samples.end());
    Must(kServer, WithProbes(args));
  };
  serve({"enrol"});
  ActivatePending(base, w("owner/keys/secret.key"));
  serve({"identify", "--out", w("owner/scores.ct")});
  const auto opened =
      Must(kHeft, {"decrypt", "--model", w("model.heft"), "--secret-key",
                   w("owner/keys/secret.key"), "--in", w("owner/scores.ct"), "--scores"});
  const std::vector<double> z = testing::FusePlain(model, UnitVectors(data, 5));
  EXPECT_EQ(opened["candidates"][0]["identity"], data.labels[5]);
  EXPECT_NEAR(opened["candidates"][0]["score"], std::sqrt(testing::Dot(z, z)),
              kScoreNoise + kRounding);
}

TEST_F(RolesTest, SecretKeyUnderAPassphrase) {
  Spill(Path("owner", "passphrase.txt"), "correct horse battery staple\n");
  const std::string model = Path("owner", "model.heft");
  const std::string secret = Path("owner", "sealed/secret.key");
  Must(kHeft, {"keygen", "--model", model, "--out", Path("owner", "sealed"), "--passphrase-file",
               Path("owner", "passphrase.txt")});
  RaiseBudget(model, secret, {"--passphrase-file", Path("owner", "passphrase.txt")});
  // The owner's own samples: seeded, half the size.
  Args samples;
  for (const Modality& m : data_->modalities) {
    const std::string npy = Path("owner", m.name + ".npy");
    WriteRows(*data_, m.name, {0, 4}, npy, npy + ".labels");
    Args encrypt = {"encrypt", "--model", model,      "--modality",   m.name,
                    "--in",    npy,       "--labels", npy + ".labels"};
    Args seeded = encrypt, open = encrypt;
    seeded.insert(seeded.end(),
                  {"--secret-key", secret, "--passphrase-file", Path("owner", "passphrase.txt"),
                   "--out", Path("owner", m.name + ".seeded.ct")});
    open.insert(open.end(), {"--key", Path("owner", "sealed/encryption.key"), "--out",
                             Path("owner", m.name + ".ct")});
    const double ratio = double{EncryptBoth(seeded)["bytes"]} / double{Must(kHeft, open)["bytes"]};
    EXPECT_NEAR(ratio, 0.5, 0.01);
    samples.insert(samples.end(), {"--in", Path("owner", m.name + ".seeded.ct")});
  }
  Args base = {"--model",   model,
               "--keys",    Path("owner", "sealed/evaluation.keys"),
               "--gallery", Path("server", Own("gallery"))};
  base.insert(base.end(), samples.begin(), samples.end());
  Args enrol = {"enrol"};
  enrol.insert(enrol.end(), base.begin(), base.end());
  Must(kServer, enrol);
  ActivatePending(enrol, secret, {"--passphrase-file", Path("owner", "passphrase.txt")});
  Args identify = {"identify", "--row", "1", "--out", Path("owner", Own("scores.ct"))};
  identify.insert(identify.end(), base.begin(), base.end());
  Must(kServer, WithProbes(identify));
  const auto opened = Must(kHeft, {"decrypt", "--model", model, "--secret-key", secret,
                                   "--passphrase-file", Path("owner", "passphrase.txt"), "--in",
                                   Path("owner", Own("scores.ct")), "--scores"});
  ExpectScores(opened, Fused(4), {{data_->labels[0], Fused(0)}, {data_->labels[4], Fused(4)}});
  // New evaluation keys for the same secret, elsewhere.
  const auto renewed =
      Must(kHeft, {"keygen", "--model", model, "--out", Path("owner", "renewed"), "--secret-key",
                   secret, "--passphrase-file", Path("owner", "passphrase.txt")});
  EXPECT_FALSE(renewed.contains("secret_key"));
  EXPECT_FALSE(std::filesystem::exists(Path("owner", "renewed/secret.key")));
  EXPECT_EQ(renewed["key_id"], Must(kHeft, {"inspect", secret})["key_id"]);
}

TEST_F(RolesTest, InspectShowsThePlanOfBothRings) {
  const auto rings =
      Must(kHeft, {"inspect", Path("owner", "model.heft"), "--plan"})["plan"]["rings"];
  ASSERT_EQ(rings.size(), 2u) << rings;
  EXPECT_EQ(rings[0]["serves"], "enrolment");
  EXPECT_EQ(rings[1]["serves"], "matching");
  for (const auto& ring : rings) {
    EXPECT_EQ(ring["projection"]["pairs"].size(), 1u) << ring;
    EXPECT_EQ(ring["projection"]["input_limbs"].get<int>(),
              ring["projection"]["z_limbs"].get<int>() + 1);
    EXPECT_GT(ring["normalisation"]["interval_hi"], 0);
    EXPECT_GT(ring["matching"]["template_scale"], 0);
    EXPECT_FALSE(ring["galois_keys"].empty());
  }
  EXPECT_GT(rings[0]["normalisation"]["degree"], 0);
  EXPECT_EQ(rings[1]["normalisation"]["degree"], 0);
  EXPECT_TRUE(rings[1]["matching"].contains("short_reply"));
}

TEST_F(RolesTest, NoSecretLeavesTheOwner) {
  Enrol({Send("face", {0}, "enrol"), Send("voice", {0}, "enrol")});
  Ask("identify", {Send("face", {1}, "probe")});
  const std::string path = Path("owner", "keys/secret.key");
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  // The coefficients are at the end, before the envelope's hash (docs/formats.md). Any 48
  // consecutive bytes would reveal the key as surely as all of it.
  const std::string secret = Slurp(path);
  ASSERT_EQ(EnvelopeKind(AsBytes(secret)), "SECK");
  const std::string needle = secret.substr(secret.size() - 32 - 4096, 48);
  size_t files = 0;
  for (const char* role : {"client", "server"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Path(role, ""))) {
      if (!entry.is_regular_file()) continue;
      ++files;
      const std::string content = Slurp(entry.path().string());
      EXPECT_NE(EnvelopeKind(AsBytes(content)), "SECK") << entry.path();
      EXPECT_EQ(content.find(needle), std::string::npos) << entry.path();
    }
  }
  EXPECT_GE(files, 10u);
  // The search finds the needle in the key file itself.
  EXPECT_NE(secret.find(needle), std::string::npos);
}

TEST_F(RolesTest, NamesAreTextAndJsonKeepsThem) {
  const std::string name = "na\u00efve \u5f20";
  Enrol({Send("face", {0}, "enrol", false), Send("voice", {0}, "enrol", false)},
        {"--identity", name});
  const auto opened = Ask("verify", {Send("face", {0}, "probe", false)}, {"--identity", name});
  EXPECT_EQ(std::string(opened["claimed"]), name);
  // Latin-1 is not UTF-8: it is refused before anything is enrolled.
  const Finished refused = RunProgram(
      kServer, Serve("enrol", {Send("face", {0}, "enrol2", false)}, {"--identity", "na\xefve"}));
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace heft::e2e
