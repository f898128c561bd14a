// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile_probes.h"

#include <algorithm>
#include <cmath>

#include "base/envelope.h"
#include "base/files.h"
#include "ckks/arithmetic.h"
#include "evaluation/wolves.h"
#include "features/dataset.h"
#include "fusion/samples.h"
#include "heft/trust.h"
#include "learning/model_scores.h"
#include "learning/projection.h"
#include "ring/sampling.h"

namespace heft::e2e {
namespace {

void Randomise(const Instance& ring, ckks::Ciphertext* c) {
  Csprng rng;
  for (ring::RnsPoly& part : c->parts) {
    for (size_t l = 0; l < part.limbs(); ++l) {
      ring::SampleUniform(part.limb(l), ring.context->modulus(l), rng);
    }
  }
}

void KeepAsItIs(const Instance&, ckks::Ciphertext*) {}

SampleUse TheOther(SampleUse use) {
  return use == SampleUse::kEnrolment ? SampleUse::kIdentification : SampleUse::kEnrolment;
}

Bytes Reseal(const Bytes& file) {
  return SealEnvelope(EnvelopeKind(file), EnvelopeVersion(file),
                      ByteSpan(file).subspan(kEnvelopeHeaderSize, file.size() - kEnvelopeOverhead));
}

}  // namespace

Attacker::Attacker(const World& world)
    : world_(world), forger_(world.model(), Ok(ReadFile(world("keys/encryption.key")))) {}

const Instance& Attacker::Ring(SampleUse use) const {
  return use == SampleUse::kIdentification ? forger_.rings().matching : forger_.rings().enrolment;
}

std::vector<Vectors> Attacker::Rows(size_t count, const Row& row) {
  std::vector<Vectors> modalities(world_.strangers().size());
  for (size_t i = 0; i < count; ++i) {
    const auto vectors = row();
    for (size_t m = 0; m < modalities.size(); ++m) modalities[m].push_back(vectors[m]);
  }
  return modalities;
}

std::vector<std::vector<float>> Attacker::OfPeople(size_t face, size_t voice) const {
  return {world_.strangers()[0][face], world_.strangers()[1][voice]};
}

std::vector<std::vector<float>> Attacker::RandomVectors() {
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> vectors = OfPeople(0, 0);
  for (auto& vector : vectors) {
    for (float& x : vector) x = normal(random_);
  }
  return vectors;
}

std::vector<std::vector<float>> Attacker::OneFeature() {
  std::vector<std::vector<float>> vectors = OfPeople(0, 0);
  for (auto& vector : vectors) {
    std::ranges::fill(vector, 0.0f);
    vector[Random(vector.size())] = Random(2) == 0 ? 1.0f : -1.0f;
  }
  return vectors;
}

std::vector<Bytes> Attacker::Strangers(SampleUse use, size_t count, const std::string& keys) {
  const auto one = [this] {
    const size_t stranger = Stranger();
    return OfPeople(stranger, stranger);
  };
  return world_.Encrypt(Rows(count, one), use, keys);
}

std::vector<Bytes> Attacker::Changed(std::vector<Bytes> files, const Change& change) const {
  for (Bytes& file : files) {
    const bool small = SampleParamsId(file) == forger_.rings().matching.params().id();
    const Instance& ring = small ? forger_.rings().matching : forger_.rings().enrolment;
    const SampleReader reader = Ok(SampleReader::Parse(ring.context, file, "sample"));
    SampleHeader header = reader.header();
    header.key_id = forger_.key_id();
    header.seeded = false;
    SampleWriter writer(*ring.context, header, reader.labels());
    for (size_t i = 0; i < reader.size(); ++i) {
      ckks::Ciphertext c = Ok(reader.Sample(i));
      change(ring, &c);
      writer.Add(c);
    }
    file = writer.Finish();
  }
  return files;
}

std::vector<Bytes> Attacker::Fused(SampleUse use, size_t count,
                                   const std::function<Slots()>& make) const {
  return {forger_.Fused(use, count, make)};
}

// Probes that `heft encrypt` makes, of people's vectors or others, and changes of its files.
std::vector<ProbeKind> Attacker::PeoplesKinds() {
  const auto encrypted = [this](const Row& row) {
    return
        [this, row](SampleUse use, size_t count) { return world_.Encrypt(Rows(count, row), use); };
  };
  const auto changed = [this](const Change& change) {
    return [this, change](SampleUse use, size_t count) {
      return Changed(Strangers(use, count), change);
    };
  };
  return {
      {"a stranger", Stopped::kByScore, false, "",
       [this](SampleUse use, size_t count) { return Strangers(use, count); }},
      {"spliced from two people", Stopped::kByScore, false, "",
       encrypted([this] { return OfPeople(Stranger(), Stranger()); })},
      {"random vectors", Stopped::kByScore, false, "",
       encrypted([this] { return RandomVectors(); })},
      {"one feature alone", Stopped::kByScore, false, "",
       encrypted([this] { return OneFeature(); })},
      {"a stranger, times 2 to 40", Stopped::kByScore, false, "",
       changed([this](const Instance& ring, ckks::Ciphertext* c) {
         ckks::MultiplyInteger(*ring.context, c, *c, static_cast<int64_t>(2 + Random(39)));
       })},
      {"random residues", Stopped::kByProof, false, "", changed(Randomise)},
      {"under another key", Stopped::kByProof, false, "",
       [this](SampleUse use, size_t count) {
         return Changed(Strangers(use, count, "other-keys"), KeepAsItIs);
       }},
      {"transparent", Stopped::kAlways, true, "is not encrypted",
       changed([](const Instance&, ckks::Ciphertext* c) {
         std::ranges::fill(c->parts[1].values(), 0u);
       })},
      {"of another ring", Stopped::kAlways, true, "encrypted for",
       [this](SampleUse use, size_t count) { return Strangers(TheOther(use), count); }},
  };
}

// Probes that a modified client declares as fused.
std::vector<ProbeKind> Attacker::ForgedKinds() {
  const auto fused = [this](const std::function<Slots()>& make) {
    return [this, make](SampleUse use, size_t count) { return Fused(use, count, make); };
  };
  return {
      {"random direction, fused", Stopped::kByScore, false, "",
       fused([this] { return Forger::Scaled(forger_.Direction(), 1); })},
      {"one coordinate alone, fused", Stopped::kByScore, false, "", fused([this] {
         Slots z(world_.model().gamma);
         z[Random(z.size())] = Random(2) == 0 ? 1 : -1;
         return z;
       })},
      {"random residues, fused", Stopped::kByProof, false, "",
       [this](SampleUse use, size_t count) {
         return Changed(
             Fused(use, count, [this] { return Forger::Scaled(forger_.Direction(), 1); }),
             Randomise);
       }},
      {"wrapped on purpose", Stopped::kByProof, false, "",
       fused([this] { return forger_.Wrapped(); })},
      // The proof makes complex values real. The remaining vector may have any length.
      {"complex, fused", Stopped::kByScore, false, "", fused([this] {
         return Forger::Scaled(forger_.Direction(), {1.5, 1.2});
       })},
      {"many vectors in one", Stopped::kByProof, false, "", fused([this] {
         Slots all;
         while (all.size() < forger_.rings().matching.params().slots()) {
           for (const double v : forger_.Direction()) all.emplace_back(v, 0);
         }
         return all;
       })},
  };
}

std::vector<ProbeKind> Attacker::Kinds() {
  std::vector<ProbeKind> kinds = PeoplesKinds();
  for (ProbeKind& kind : ForgedKinds()) kinds.push_back(std::move(kind));
  return kinds;
}

ProbeKind Attacker::Wolves(const Model& hardened) {
  const Dataset data = Ok(LoadDataset(world_.data_folder()));
  std::vector<int> rows = RowsOf(data.split, Split::kTrain);
  const Model& model = world_.model();
  const auto templates = [&](std::span<const int> of) {
    const FeatureMatrix features = Ok(Concatenate(data, of));
    return FeatureMatrix(ProjectAndNormalise(ProjectionOf(model), features, {model.approximation})
                             .rowwise()
                             .normalized());
  };
  std::vector<double> thresholds;
  for (const double fmr : {1e-2, 1e-3}) {
    thresholds.push_back(Ok(hardened.ThresholdFor(fmr, hardened.AllModalities())).score);
  }
  wolves_.resize(kWolfCount, model.gamma);
  for (Eigen::Index done = 0; done < wolves_.rows(); done += kWolves) {
    const auto turn = static_cast<size_t>(done / kWolves);
    const bool all = turn < thresholds.size();
    if (!all) std::ranges::shuffle(rows, random_);
    const FeatureMatrix known =
        templates(std::span(rows).first(all ? rows.size() : rows.size() / 2));
    wolves_.middleRows(done, kWolves) = LearnWolves(known, thresholds[turn % thresholds.size()]);
  }
  return {"wolves, fused", Stopped::kAgainstWolves, false, "", [this](SampleUse use, size_t count) {
            return Fused(use, count, [this] {
              const Eigen::RowVectorXd wolf = wolves_.row(
                  static_cast<Eigen::Index>(Random(static_cast<size_t>(wolves_.rows()))));
              return Forger::Scaled({wolf.data(), static_cast<size_t>(wolf.size())}, 1);
            });
          }};
}

std::vector<Bytes> Attacker::LongTemplate(double length) {
  return Fused(SampleUse::kEnrolment, 1,
               [&] { return Forger::Scaled(forger_.Direction(), length); });
}

Bytes Attacker::Relabelled(const Bytes& reply, const std::string& from, const std::string& to) {
  const auto file = Ok(ReadSigned(reply, "reply"));
  const auto at = file.file.data() - reply.data();
  Bytes inner(file.file.begin(), file.file.end());
  auto found = inner.begin();
  while ((found = std::search(found, inner.end(), from.begin(), from.end())) != inner.end()) {
    found = std::copy(to.begin(), to.end(), found);
  }
  inner = Reseal(inner);
  Bytes whole = reply;
  std::ranges::copy(inner, whole.begin() + at);
  return Reseal(whole);
}

}  // namespace heft::e2e
