// SPDX-License-Identifier: Apache-2.0
// A hostile client sends well-formed files with adversarial ciphertexts. It has the things that any
// client has: model, encryption key, and sample files seen before. Its files are refused with one
// line and exit code 3, or the key owner can tell the answer from an honest one. Enrolments of
// others do not change, and no program crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <tuple>

#include "base/files.h"
#include "ckks/arithmetic.h"
#include "ckks/encryptor.h"
#include "fusion/key_files.h"
#include "fusion/rings.h"
#include "fusion/samples.h"
#include "gallery/scores.h"
#include "ring/sampling.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ckks::Ciphertext;
using ::testing::HasSubstr;

template <typename T>
T Ok(absl::StatusOr<T> value) {
  EXPECT_TRUE(value.ok()) << value.status();
  return *std::move(value);
}

// owner/, client/ and server/ of one model. server/gallery holds three people; the victim is "0".
// client/face.ct and voice.ct are the victim's probe.
class HostileClientTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    const Workplace& w = *work_;
    Must(kHeft, {"synth", "--out", w("data"), "--jitter", "1", "--identities", "20", "--samples",
                 "3", "--dimensions", "24", "16"});
    Must(kHeft, TrainArgs(w("data"), w("owner/model.heft")));
    Must(kHeft, {"keygen", "--model", w("owner/model.heft"), "--out", w("owner/keys")});
    RaiseBudget(w("owner/model.heft"), w("owner/keys/secret.key"));
    Must(kHeft, {"keygen", "--model", w("owner/model.heft"), "--out", w("owner/stranger")});
    data_ = new Dataset(*LoadDataset(w("data")));
    model_ = new Model(ReadModel(w("owner/model.heft")));
    rings_ = new Rings(Ok(MakeRings(*model_)));
    for (const char* modality : {"face", "voice"}) {
      EncryptRows(modality, {0, 3, 6}, w("client/enrol-" + std::string(modality) + ".ct"));
      EncryptRows(modality, {1}, w("client/" + std::string(modality) + ".ct"));
    }
    EnrolNow(Serve("enrol", {W("client/enrol-face.ct"), W("client/enrol-voice.ct")}),
             W("owner/keys/secret.key"));
  }
  static void TearDownTestSuite() {
    delete rings_;
    delete model_;
    delete data_;
    delete work_;
  }

  static std::string W(const std::string& path) { return (*work_)(path); }
  // Each file of samples of the client has one beside it for identifications, in the small ring.
  static const Instance& Enrolment() { return rings_->enrolment; }
  static const Instance& Matching() { return rings_->matching; }

  static void EncryptRows(const std::string& modality, const std::vector<int>& rows,
                          const std::string& out) {
    WriteRows(*data_, modality, rows, out + ".npy", out + ".labels");
    EncryptBoth({"encrypt", "--model", W("owner/model.heft"), "--key",
                 W("owner/keys/encryption.key"), "--modality", modality, "--in", out + ".npy",
                 "--labels", out + ".labels", "--out", out});
  }
  static Args Serve(const std::string& subcommand, const std::vector<std::string>& samples,
                    const Args& more = {}, const std::string& gallery = "server/gallery") {
    Args args = {
        subcommand,  "--model", W("owner/model.heft"), "--keys", W("owner/keys/evaluation.keys"),
        "--gallery", W(gallery)};
    for (const std::string& path : samples) args.insert(args.end(), {"--in", path});
    args.insert(args.end(), more.begin(), more.end());
    return WithProbes(args);
  }
  // The server answers and the key owner opens.
  static nlohmann::json Ask(const std::string& subcommand, const std::vector<std::string>& samples,
                            const Args& more = {}, const std::string& gallery = "server/gallery") {
    Args args = Serve(subcommand, samples, more, gallery);
    args.insert(args.end(), {"--out", W("server/scores.ct")});
    Must(kServer, args);
    Believe(W("owner/keys/trust.heft"), W(gallery));
    return Must(kHeft, {"decrypt", "--model", W("owner/model.heft"), "--secret-key",
                        W("owner/keys/secret.key"), "--in", W("server/scores.ct"), "--threshold",
                        "0.5", "--scores"});
  }
  static std::vector<std::string> HonestProbe() {
    return {W("client/face.ct"), W("client/voice.ct")};
  }
  // Writes the one sample of client/NAME.ct and of its probe again, with changes, as client/OUT.ct.
  using Change = std::function<void(const Instance&, Ciphertext*)>;
  static std::string Again(const std::string& name, const std::string& out,
                           const std::string& label, const Change& change,
                           const std::string& modality = "") {
    const std::string from = W("client/" + name + ".ct"), to = W("client/" + out + ".ct");
    const std::vector<std::string> labels = {label};
    for (const auto& [ring, in, written] :
         {std::tuple(Enrolment(), from, to), std::tuple(Matching(), ProbeOf(from), ProbeOf(to))}) {
      const SampleReader honest = Ok(SampleReader::Parse(ring.context, Ok(ReadFile(in)), in));
      Ciphertext c = Ok(honest.Sample(0));
      change(ring, &c);
      SampleHeader header = honest.header();
      if (!modality.empty()) header.modality = modality;
      SampleWriter writer(*ring.context, header, labels);
      writer.Add(c);
      EXPECT_TRUE(WriteFileAtomic(written, writer.Finish()).ok());
    }
    return to;
  }
  // The victim's face with a change, as files of the client.
  static std::string Forged(const std::string& name, const Change& change,
                            const std::string& label = "0") {
    return Again("face", "forged-" + name, label, change);
  }
  // Hands over the newest end of the key owner's journal, which the next request would store.
  static void HandOverJournalHead() {
    Must(kServer,
         {"apply", "--model", W("owner/model.heft"), "--keys", W("owner/keys/evaluation.keys"),
          "--gallery", W("server/gallery"), "--in", W("owner/keys/journal.head")});
  }
  // Every operation of the server must refuse this face and change nothing.
  static void ExpectRefused(const std::string& face, const std::vector<std::string>& texts) {
    const std::vector<std::string> samples = {face, W("client/voice.ct")};
    HandOverJournalHead();
    const auto before = Snapshot(work_->root());
    for (const char* subcommand : {"enrol", "identify", "verify"}) {
      Args more = {"--quiet"};
      if (subcommand != std::string("enrol")) {
        more.insert(more.end(), {"--out", W("server/new.ct")});
      }
      if (subcommand == std::string("verify")) more.insert(more.end(), {"--identity", "0"});
      const Finished run = RunProgram(kServer, Serve(subcommand, samples, more));
      EXPECT_EQ(run.exit_code, kInput) << face << ": signal " << run.signal << "\n" << run.err;
      EXPECT_EQ(Lines(run.err), 1u) << run.err;
      for (const std::string& text : texts) EXPECT_THAT(run.err, HasSubstr(text));
    }
    EXPECT_EQ(Snapshot(work_->root()), before) << face << ": files have changed";
  }
  // The server cannot see that the face is wrong. The key owner refuses the answers because of the
  // proof of the norm; SECURITY.md says how seldom garbage passes.
  static void ExpectRejected(const std::string& face) {
    SCOPED_TRACE(face);
    const std::vector<std::string> samples = {face, W("client/voice.ct")};
    for (const char* subcommand : {"identify", "verify"}) {
      HandOverJournalHead();
      const auto before = Snapshot(W("server/gallery"));
      Args more;
      if (subcommand == std::string("verify")) more.insert(more.end(), {"--identity", "0"});
      const auto opened = Ask(subcommand, samples, more);
      EXPECT_NE(opened["refusal"], "") << opened;
      EXPECT_EQ(opened["accepted"], false);
      EXPECT_EQ(opened["candidates"].size(), 0u);
      EXPECT_EQ(Snapshot(W("server/gallery")), before);
    }
  }

  static Workplace* work_;
  static Dataset* data_;
  static Model* model_;
  static Rings* rings_;
};

Workplace* HostileClientTest::work_;
Dataset* HostileClientTest::data_;
Model* HostileClientTest::model_;
Rings* HostileClientTest::rings_;

void Zero(ring::RnsPoly* poly) { std::fill(poly->values().begin(), poly->values().end(), 0); }

TEST_F(HostileClientTest, AnHonestProbeIsAccepted) {
  const auto opened = Ask("verify", HonestProbe(), {"--identity", "0"});
  EXPECT_EQ(opened["accepted"], true) << opened;
}

TEST_F(HostileClientTest, ZeroAndTransparentCiphertexts) {
  ExpectRefused(Forged("zero",
                       [](const Instance&, Ciphertext* c) {
                         Zero(&c->parts[0]);
                         Zero(&c->parts[1]);
                       }),
                {"not encrypted"});
  // c0 is the plaintext, which anybody can read.
  ExpectRefused(Forged("transparent", [](const Instance&, Ciphertext* c) { Zero(&c->parts[1]); }),
                {"not encrypted"});
  ExpectRefused(Forged("transparent-limb",
                       [](const Instance&, Ciphertext* c) {
                         const auto limb = c->parts[1].limb(2);
                         std::fill(limb.begin(), limb.end(), 0);
                       }),
                {"not encrypted"});
}

TEST_F(HostileClientTest, OtherLevels) {
  for (const bool lowest : {true, false}) {
    ExpectRefused(Forged(lowest ? "level-1" : "level-next",
                         [&](const Instance& ring, Ciphertext* c) {
                           const size_t limbs = lowest ? 1 : c->limbs() - 1;
                           ASSERT_TRUE(ckks::DropLimbs(*ring.context, c, *c, limbs).ok());
                         }),
                  {"samples declared"});
  }
  // A ciphertext with three parts.
  ExpectRefused(
      Forged("three", [](const Instance&, Ciphertext* c) { c->parts.push_back(c->parts[1]); }),
      {"samples declared"});
}

TEST_F(HostileClientTest, OtherScales) {
  for (const double factor : {2.0, 1.0001, 0x1p900, 0x1p-900}) {
    ExpectRefused(Forged("scale", [&](const Instance&, Ciphertext* c) { c->scale *= factor; }),
                  {"scale"});
  }
}

TEST_F(HostileClientTest, ClaimsAboutNoiseAreNotBelieved) {
  const std::string face = Forged("noise", [](const Instance&, Ciphertext* c) {
    c->noise = {1e300, 1e300};
  });
  const auto read = [](const char* path) {
    const ckks::Context& context = *Matching().context;
    return Ok(ParseScores(context, Ok(ReadFile(W(path))), path)).replies[0].Full(context).noise;
  };
  ASSERT_EQ(Ask("identify", HonestProbe())["accepted"], true);
  const ckks::Noise honest = read("server/scores.ct");
  // The same reply can be opened only once.
  Must(kServer, Serve("identify", {face, W("client/voice.ct")}, {"--out", W("server/scores.ct")}));
  const ckks::Noise forged = read("server/scores.ct");
  EXPECT_EQ(honest.message, forged.message);
  EXPECT_EQ(honest.error, forged.error);
}

TEST_F(HostileClientTest, SwappedPolynomials) {
  ExpectRejected(Forged(
      "swapped", [](const Instance&, Ciphertext* c) { std::swap(c->parts[0], c->parts[1]); }));
  // One limb is changed: its residues are in range, but belong to no small integer.
  ExpectRejected(Forged("limb", [](const Instance& ring, Ciphertext* c) {
    for (uint32_t& v : c->parts[0].limb(1)) v = (v + 1) % ring.context->modulus(1).value();
  }));
}

TEST_F(HostileClientTest, RandomResidues) {
  ExpectRejected(Forged("random", [](const Instance& of, Ciphertext* c) {
    Csprng rng;
    for (ring::RnsPoly& part : c->parts) {
      for (size_t l = 0; l < part.limbs(); ++l) {
        ring::SampleUniform(part.limb(l), of.context->modulus(l), rng);
      }
    }
  }));
}

TEST_F(HostileClientTest, EncryptedUnderAnotherKeyThatIsNotNamed) {
  const auto keys =
      Ok(ParseEncryptionKeys(*rings_, Ok(ReadFile(W("owner/stranger/encryption.key"))), "key"));
  ExpectRejected(Forged("stranger", [&](const Instance& ring, Ciphertext* c) {
    Csprng rng;
    const std::vector<double> ones(ring.context->slots(), 0.5);
    const auto plain = Ok(ring.encoder->Encode(ones, c->scale, c->limbs()));
    const bool probe = ring.context == Matching().context;
    *c = ckks::Encrypt(*ring.context, plain, probe ? keys.matching() : keys.enrolment, rng);
  }));
}

TEST_F(HostileClientTest, VectorsThatAreNotOfUnitLength) {
  for (const int64_t factor : {20, -30000}) {
    ExpectRejected(Forged("length", [&](const Instance& ring, Ciphertext* c) {
      ckks::MultiplyInteger(*ring.context, c, *c, factor);
    }));
  }
}

// Unsigned files carry no freshness: a replayed file is as good as the first (SECURITY.md,
// "Signatures"). Replays must change nothing for others.
TEST_F(HostileClientTest, ReplayedFiles) {
  work_->Copy("server/gallery", "server/replayed");
  nlohmann::json first = Ask("verify", HonestProbe(), {"--identity", "0"});
  nlohmann::json second = Ask("verify", HonestProbe(), {"--identity", "0"});
  // The factor of the norm's proof and the noise over other people's scores are drawn anew. They
  // move this score by about 1e-4, so it may be rounded to the next step and have another
  // likelihood.
  const double score = first["candidates"][0]["score"];
  EXPECT_NEAR(second["candidates"][0]["score"], score, 1.5e-3);
  const bool moved = second["candidates"][0]["score"] != score;
  for (nlohmann::json* opened : {&first, &second}) {
    nlohmann::json& candidate = (*opened)["candidates"][0];
    EXPECT_EQ(candidate.erase("scores_left"), 1u);
    if (moved) {
      EXPECT_EQ(candidate.erase("score") + candidate.erase("log_likelihood_ratio"), 2u);
    }
  }
  EXPECT_EQ(second, first);
  // A repeated enrolment is recognised. Samples that were not enrolled before become a template
  // under another name.
  const std::vector<std::string> enrolled = {W("client/enrol-face.ct"), W("client/enrol-voice.ct")};
  const Finished resent =
      RunProgram(kServer, Serve("enrol", enrolled, {"--quiet"}, "server/replayed"));
  EXPECT_EQ(resent.exit_code, kInput);
  EXPECT_THAT(resent.err, HasSubstr("enrolled before"));
  const std::string renamed = Forged(
      "renamed", [](const Instance&, Ciphertext*) {}, "mallory");
  const std::string voice =
      Again("voice", "mallory-voice", "mallory", [](const Instance&, Ciphertext*) {});
  const Args enrol = Serve("enrol", {renamed, voice}, {}, "server/replayed");
  EXPECT_EQ(EnrolNow(enrol, W("owner/keys/secret.key"))["templates"], 4);
  const auto opened = Ask("identify", HonestProbe(), {}, "server/replayed");
  ASSERT_EQ(opened["candidates"].size(), 4u);
  EXPECT_EQ(opened["candidates"][0]["identity"], "mallory") << "the very probe";
  EXPECT_EQ(opened["candidates"][1]["identity"], "0");
  EXPECT_EQ(opened["candidates"][1]["templates"], 1);
  const auto again = Ask("verify", HonestProbe(), {"--identity", "0"}, "server/replayed");
  EXPECT_NEAR(again["candidates"][0]["score"], score, kScoreNoise + kRounding);
  // One modality is sent as another.
  ExpectRefused(Again(
                    "face", "face-as-voice", "0", [](const Instance&, Ciphertext*) {}, "voice"),
                {"dimension"});
}

// An attack: enrolled garbage spoiled a block and the scores of everybody in it.
TEST_F(HostileClientTest, GarbageIsNotAdmitted) {
  work_->Copy("server/gallery", "server/spoilt");
  const std::string garbage = Forged(
      "garbage", [](const Instance&, Ciphertext* c) { std::swap(c->parts[0], c->parts[1]); },
      "mallory");
  const Args enrol = Serve("enrol", {garbage}, {}, "server/spoilt");
  EXPECT_EQ(Must(kServer, enrol)["pending"], 1);
  const auto activated = ActivatePending(enrol, W("owner/keys/secret.key"), {}, /*rejected=*/1);
  EXPECT_EQ(activated["templates"], 3);
  EXPECT_EQ(activated["rejected"], 1);
  const auto reply = Ask("identify", HonestProbe(), {}, "server/spoilt");
  EXPECT_EQ(reply["refusal"], "") << reply;
  EXPECT_EQ(reply["candidates"][0]["identity"], "0");
}

}  // namespace
}  // namespace heft::e2e
