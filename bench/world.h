// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share: repeated timings, and all roles in one process.
#ifndef HEFT_BENCH_WORLD_H_
#define HEFT_BENCH_WORLD_H_

#include <chrono>
#include <optional>
#include <random>
#include <vector>

#include "bench/routes.h"
#include "ckks/owner/secret_key.h"
#include "fusion/probe.h"

namespace heft::bench {

// Wall times, and the calling thread's CPU times, of repeated runs, in milliseconds.
class Timings {
 public:
  void Add(double wall_ms, double cpu_ms) {
    wall_.push_back(wall_ms);
    cpu_.push_back(cpu_ms);
  }
  double Median() const;
  Json Spread() const;

 private:
  std::vector<double> wall_, cpu_;
};

double ThreadCpuMs();

template <typename Fn>
absl::Status Time(Timings* timings, const Fn& fn) {
  const double cpu = ThreadCpuMs();
  const auto start = std::chrono::steady_clock::now();
  HEFT_RETURN_IF_ERROR(fn());
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  timings->Add(elapsed.count(), ThreadCpuMs() - cpu);
  return absl::OkStatus();
}

// A key owner, a client and a server in one process, for a random model.
struct World {
  Model model;
  Instance instance;
  std::optional<ckks::SecretKey> secret;
  ckks::PublicKey public_key;
  ckks::EvaluationKeys keys;
  std::optional<Fuser> fuser;        // for enrolment
  std::optional<ProbeFuser> prober;  // for identification
  Csprng rng;
  std::mt19937_64 random{3};

  // Makes model and keys.
  absl::Status SetUp(const BenchOptions& options);
  // Random unit vectors, one a modality.
  std::vector<std::vector<double>> Sample();
  absl::StatusOr<std::vector<ckks::Ciphertext>> EncryptSample(
      const std::vector<std::vector<double>>& sample);
  // One batch for bulk enrolment, n / 2 samples: [modality][coordinate].
  absl::StatusOr<std::vector<std::vector<ckks::Ciphertext>>> EncryptBulk(
      const std::function<bool(std::string_view)>& stage);
  // Fuses such a batch and puts it into an empty block.
  absl::Status EnrolBulk(const std::vector<std::vector<ckks::Ciphertext>>& columns) const;
};

std::vector<const ckks::Ciphertext*> Pointers(const std::vector<ckks::Ciphertext>& v);

// Blocks of residues for at least `templates` templates: random ones take the same time as
// encrypted templates.
absl::StatusOr<std::vector<TiledCiphertexts>> RandomGallery(
    const Instance& instance, size_t templates, const std::function<bool(std::string_view)>& stage);

}  // namespace heft::bench

#endif  // HEFT_BENCH_WORLD_H_
