// SPDX-License-Identifier: Apache-2.0
// Probes of an attacker who has the model, the encryption key, a client's signing key, samples of
// strangers, and own code.
#ifndef HEFT_TESTS_HOSTILE_PROBES_H_
#define HEFT_TESTS_HOSTILE_PROBES_H_

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ckks/ciphertext.h"
#include "features/matrix.h"
#include "fusion/rings.h"
#include "tests/forger.h"
#include "tests/hostile_world.h"

namespace heft::e2e {

// Stopped: the check that has to stop a kind of attack.
enum class Stopped {
  kAlways,         // server or key owner, without regard to chance
  kByProof,        // the proof of the norm, which one of 1,800 may pass (SECURITY.md)
  kByScore,        // the threshold, at its false match rate
  kAgainstWolves,  // the same, of a model with thresholds against wolves
};

// ProbeKind: a function that makes files with `count` samples each. `alone`: the server refuses a
// whole file for one such sample, so each attempt is a file of its own.
struct ProbeKind {
  std::string name;
  Stopped stopped = Stopped::kByScore;
  bool alone = false;
  // The text of the refusal, for kinds that are always stopped.
  std::string reason;
  std::function<std::vector<Bytes>(SampleUse use, size_t count)> make;
};

class Attacker {
 public:
  explicit Attacker(const World& world);

  std::vector<ProbeKind> Kinds();
  // A template that a client declares as fused, with a length other than 1.
  std::vector<Bytes> LongTemplate(double length);
  // Replaces a name in a reply by another one of the same length and recomputes all checksums, as
  // anybody can.
  static Bytes Relabelled(const Bytes& reply, const std::string& from, const std::string& to);
  // Wolves: directions that an attacker learns from the model's training people, for the thresholds
  // of `hardened` (evaluation/wolves.h): from all of them, and from random halves.
  ProbeKind Wolves(const Model& hardened);
  static constexpr size_t kWolfCount = 24;
  size_t Random(size_t below) { return random_() % below; }

 private:
  using Change = std::function<void(const Instance&, ckks::Ciphertext*)>;
  using Slots = Forger::Slots;

  std::vector<ProbeKind> PeoplesKinds();
  std::vector<ProbeKind> ForgedKinds();
  const Instance& Ring(SampleUse use) const;
  size_t Stranger() { return Random(world_.strangers()[0].size()); }

  // The vectors of each modality, with a row for each of `count` samples.
  using Row = std::function<std::vector<std::vector<float>>()>;
  std::vector<Vectors> Rows(size_t count, const Row& row);
  std::vector<std::vector<float>> OfPeople(size_t face, size_t voice) const;
  std::vector<std::vector<float>> RandomVectors();
  std::vector<std::vector<float>> OneFeature();
  std::vector<Bytes> Strangers(SampleUse use, size_t count, const std::string& keys = "keys");
  // The same files with every ciphertext changed, declared as encrypted under the owner's key.
  std::vector<Bytes> Changed(std::vector<Bytes> files, const Change& change) const;
  // A file that is declared as fused by a client (Forger::Fused).
  std::vector<Bytes> Fused(SampleUse use, size_t count, const std::function<Slots()>& make) const;

  const World& world_;
  Forger forger_;
  std::mt19937_64 random_{std::random_device()()};
  FeatureMatrix wolves_;  // a row each
};

}  // namespace heft::e2e

#endif  // HEFT_TESTS_HOSTILE_PROBES_H_
