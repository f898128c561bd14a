// SPDX-License-Identifier: Apache-2.0
// A hostile client sends well-formed files with adversarial ciphertexts. It has the things that any
// client has: model, encryption key, and sample files seen before. Its files are refused with one
// line and exit code 3, or the key owner can tell the answer from an honest one. Enrolments of
// others do not change, and no program crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/files.h"
#include "ckks/arithmetic.h"
#include "ckks/encryptor.h"
#include "fusion/key_files.h"
#include "fusion/samples.h"
#include "gallery/scores.h"
#include "ring/sampling.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ckks::Ciphertext;
using ::testing::HasSubstr;

constexpr int kInput = 3;

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
    instance_ = new Instance(Ok(MakeInstance(*model_)));
    for (const char* modality : {"face", "voice"}) {
      EncryptRows(modality, {0, 3, 6}, w("client/enrol-" + std::string(modality) + ".ct"));
      EncryptRows(modality, {1}, w("client/" + std::string(modality) + ".ct"));
    }
    EnrolNow(Serve("enrol", {W("client/enrol-face.ct"), W("client/enrol-voice.ct")}),
             W("owner/keys/secret.key"));
  }
  static void TearDownTestSuite() {
    delete instance_;
    delete model_;
    delete data_;
    delete work_;
  }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static const ckks::Context& context() { return *instance_->context; }

  static void EncryptRows(const std::string& modality, const std::vector<int>& rows,
                          const std::string& out) {
    WriteRows(*data_, modality, rows, out + ".npy", out + ".labels");
    Must(kHeft,
         {"encrypt", "--model", W("owner/model.heft"), "--key", W("owner/keys/encryption.key"),
          "--modality", modality, "--in", out + ".npy", "--labels", out + ".labels", "--out", out});
  }
  static Args Serve(const std::string& subcommand, const std::vector<std::string>& samples,
                    const Args& more = {}, const std::string& gallery = "server/gallery") {
    Args args = {
        subcommand,  "--model", W("owner/model.heft"), "--keys", W("owner/keys/evaluation.keys"),
        "--gallery", W(gallery)};
    for (const std::string& path : samples) args.insert(args.end(), {"--in", path});
    args.insert(args.end(), more.begin(), more.end());
    return args;
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
  static SampleReader Read(const std::string& path) {
    return Ok(SampleReader::Parse(instance_->context, Ok(ReadFile(path)), path));
  }
  // The victim's face with a change, as a file of the client.
  static std::string Forged(const std::string& name, const std::function<void(Ciphertext*)>& change,
                            const std::string& label = "0") {
    const SampleReader honest = Read(W("client/face.ct"));
    Ciphertext c = Ok(honest.Sample(0));
    change(&c);
    const std::vector<std::string> labels = {label};
    SampleWriter writer(context(), honest.header(), labels);
    writer.Add(c);
    const std::string path = W("client/forged-" + name + ".ct");
    EXPECT_TRUE(WriteFileAtomic(path, writer.Finish()).ok());
    return path;
  }
  // Hands over the newest end of the key owner's journal, which the next request would store.
  static void HandOverJournalHead() {
    Must(kServer,
         {"release", "--model", W("owner/model.heft"), "--keys", W("owner/keys/evaluation.keys"),
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
      EXPECT_TRUE(opened.contains("refused")) << opened;
      EXPECT_EQ(opened["decision"], "reject");
      EXPECT_EQ(opened["candidates"].size(), 0u);
      EXPECT_EQ(Snapshot(W("server/gallery")), before);
    }
  }

  static Workplace* work_;
  static Dataset* data_;
  static Model* model_;
  static Instance* instance_;
};

Workplace* HostileClientTest::work_;
Dataset* HostileClientTest::data_;
Model* HostileClientTest::model_;
Instance* HostileClientTest::instance_;

void Zero(ring::RnsPoly* poly) { std::fill(poly->values().begin(), poly->values().end(), 0); }

TEST_F(HostileClientTest, AnHonestProbeIsAccepted) {
  const auto opened = Ask("verify", HonestProbe(), {"--identity", "0"});
  EXPECT_EQ(opened["decision"], "accept") << opened;
}

TEST_F(HostileClientTest, ZeroAndTransparentCiphertexts) {
  ExpectRefused(Forged("zero",
                       [](Ciphertext* c) {
                         Zero(&c->parts[0]);
                         Zero(&c->parts[1]);
                       }),
                {"not encrypted"});
  // c0 is the plaintext, which anybody can read.
  ExpectRefused(Forged("transparent", [](Ciphertext* c) { Zero(&c->parts[1]); }),
                {"not encrypted"});
  ExpectRefused(Forged("transparent-limb",
                       [](Ciphertext* c) {
                         const auto limb = c->parts[1].limb(2);
                         std::fill(limb.begin(), limb.end(), 0);
                       }),
                {"not encrypted"});
}

TEST_F(HostileClientTest, OtherLevels) {
  for (const size_t limbs : {size_t{1}, context().params().limbs() - 1}) {
    ExpectRefused(
        Forged("level-" + std::to_string(limbs),
               [&](Ciphertext* c) { ASSERT_TRUE(ckks::DropLimbs(context(), c, *c, limbs).ok()); }),
        {"samples declared"});
  }
  // A ciphertext with three parts.
  ExpectRefused(Forged("three", [](Ciphertext* c) { c->parts.push_back(c->parts[1]); }),
                {"samples declared"});
}

TEST_F(HostileClientTest, OtherScales) {
  for (const double factor : {2.0, 1.0001, 0x1p900, 0x1p-900}) {
    ExpectRefused(Forged("scale", [&](Ciphertext* c) { c->scale *= factor; }), {"scale"});
  }
}

TEST_F(HostileClientTest, ClaimsAboutNoiseAreNotBelieved) {
  const std::string face = Forged("noise", [](Ciphertext* c) { c->noise = {1e300, 1e300}; });
  const auto read = [](const char* path) {
    return Ok(ParseScores(context(), Ok(ReadFile(W(path))), path));
  };
  ASSERT_EQ(Ask("identify", HonestProbe())["decision"], "accept");
  const ckks::Noise honest = read("server/scores.ct").replies[0].scores.noise;
  // The same reply can be opened only once.
  Must(kServer, Serve("identify", {face, W("client/voice.ct")}, {"--out", W("server/scores.ct")}));
  const ckks::Noise forged = read("server/scores.ct").replies[0].scores.noise;
  EXPECT_EQ(honest.message, forged.message);
  EXPECT_EQ(honest.error, forged.error);
}

TEST_F(HostileClientTest, SwappedPolynomials) {
  ExpectRejected(Forged("swapped", [](Ciphertext* c) { std::swap(c->parts[0], c->parts[1]); }));
  // One limb is changed: its residues are in range, but belong to no small integer.
  ExpectRejected(Forged("limb", [](Ciphertext* c) {
    for (uint32_t& v : c->parts[0].limb(1)) v = (v + 1) % context().modulus(1).value();
  }));
}

TEST_F(HostileClientTest, RandomResidues) {
  ExpectRejected(Forged("random", [](Ciphertext* c) {
    Csprng rng;
    for (ring::RnsPoly& part : c->parts) {
      for (size_t l = 0; l < part.limbs(); ++l) {
        ring::SampleUniform(part.limb(l), context().modulus(l), rng);
      }
    }
  }));
}

TEST_F(HostileClientTest, EncryptedUnderAnotherKeyThatIsNotNamed) {
  const auto key =
      Ok(ParseEncryptionKey(context(), Ok(ReadFile(W("owner/stranger/encryption.key"))), "key"));
  ExpectRejected(Forged("stranger", [&](Ciphertext* c) {
    Csprng rng;
    const std::vector<double> ones(context().slots(), 0.5);
    const auto plain = Ok(instance_->encoder->Encode(ones, c->scale, c->limbs()));
    *c = ckks::Encrypt(context(), plain, key, rng);
  }));
}

TEST_F(HostileClientTest, VectorsThatAreNotOfUnitLength) {
  // The larger factor makes |z|^2 about 5e8, half of the bound at which it wraps. That is far
  // outside the interval for any noise.
  for (const int64_t factor : {20, -30000}) {
    ExpectRejected(
        Forged("length", [&](Ciphertext* c) { ckks::MultiplyInteger(context(), c, *c, factor); }));
  }
}

// Unsigned files carry no freshness: a replayed file is as good as the first (SECURITY.md,
// "Signatures"). Replays must change nothing for others.
TEST_F(HostileClientTest, ReplayedFiles) {
  work_->Copy("server/gallery", "server/replayed");
  nlohmann::json first = Ask("verify", HonestProbe(), {"--identity", "0"});
  nlohmann::json second = Ask("verify", HonestProbe(), {"--identity", "0"});
  // The noise over other people's scores is drawn anew. Its rounding moves this score by about
  // 1e-6.
  nlohmann::json& score = second["candidates"][0]["score"];
  EXPECT_NEAR(score, first["candidates"][0]["score"], 1.5e-3);
  score = first["candidates"][0]["score"];
  for (nlohmann::json* opened : {&first, &second}) {
    (*opened)["candidates"][0].erase("scores_left");
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
      "renamed", [](Ciphertext*) {}, "mallory");
  const SampleReader voice = Read(W("client/voice.ct"));
  const std::vector<std::string> mallory = {"mallory"};
  SampleWriter writer(context(), voice.header(), mallory);
  writer.Add(Ok(voice.Sample(0)));
  ASSERT_TRUE(WriteFileAtomic(W("client/mallory-voice.ct"), writer.Finish()).ok());
  const Args enrol = Serve("enrol", {renamed, W("client/mallory-voice.ct")}, {}, "server/replayed");
  EXPECT_EQ(EnrolNow(enrol, W("owner/keys/secret.key"))["templates"], 4);
  const auto opened = Ask("identify", HonestProbe(), {}, "server/replayed");
  ASSERT_EQ(opened["candidates"].size(), 4u);
  EXPECT_EQ(opened["candidates"][0]["identity"], "mallory") << "the very probe";
  EXPECT_EQ(opened["candidates"][1]["identity"], "0");
  EXPECT_EQ(opened["candidates"][1]["templates"], 1);
  const auto again = Ask("verify", HonestProbe(), {"--identity", "0"}, "server/replayed");
  EXPECT_NEAR(again["candidates"][0]["score"], first["candidates"][0]["score"],
              kScoreNoise + kRounding);
  // One modality is sent as another.
  const SampleReader face = Read(W("client/face.ct"));
  SampleHeader as_voice = face.header();
  as_voice.modality = "voice";
  SampleWriter moved(context(), as_voice, face.labels());
  moved.Add(Ok(face.Sample(0)));
  ASSERT_TRUE(WriteFileAtomic(W("client/face-as-voice.ct"), moved.Finish()).ok());
  ExpectRefused(W("client/face-as-voice.ct"), {"dimension"});
}

// An attack: enrolled garbage spoiled a block and the scores of everybody in it.
TEST_F(HostileClientTest, GarbageIsNotAdmitted) {
  work_->Copy("server/gallery", "server/spoilt");
  const std::string garbage = Forged(
      "garbage", [](Ciphertext* c) { std::swap(c->parts[0], c->parts[1]); }, "mallory");
  const Args enrol = Serve("enrol", {garbage}, {}, "server/spoilt");
  EXPECT_EQ(Must(kServer, enrol)["waiting"], 1);
  const auto admitted = AdmitWaiting(enrol, W("owner/keys/secret.key"), {}, /*rejected=*/1);
  EXPECT_EQ(admitted["templates"], 3);
  EXPECT_EQ(admitted["rejected"], 1);
  const auto reply = Ask("identify", HonestProbe(), {}, "server/spoilt");
  EXPECT_FALSE(reply.contains("refused")) << reply;
  EXPECT_EQ(reply["candidates"][0]["identity"], "0");
}

}  // namespace
}  // namespace heft::e2e
