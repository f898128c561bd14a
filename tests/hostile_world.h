// SPDX-License-Identifier: Apache-2.0
// The operators' side of the hostile suite: key owner, server and clients that follow the manual.
// Each step is a process of the real programs with default flags.
#ifndef HEFT_TESTS_HOSTILE_WORLD_H_
#define HEFT_TESTS_HOSTILE_WORLD_H_

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "features/dataset.h"
#include "heft/client.h"
#include "heft/model.h"
#include "tests/process.h"

namespace heft::e2e {

using Bytes = std::vector<uint8_t>;
// Vectors: the vectors of one modality, in rows.
using Vectors = std::vector<std::vector<float>>;

// Die: ends the suite, which cannot go on. An unexpected result counts neither as refused nor as
// accepted.
[[noreturn]] void Die(const std::string& what);
template <typename T>
T Ok(absl::StatusOr<T> value) {
  if (!value.ok()) Die(std::string(value.status().message()));
  return *std::move(value);
}

// Outcome: the result of a probe.
enum class Outcome {
  kTurnedAway,  // by the server: there is nothing to open
  kRefused,     // by the key owner, with the reason
  kRejected,    // by its score
  kAccepted,
};
struct Fate {
  Outcome outcome = Outcome::kTurnedAway;
  std::string why;
};

// World: a model, keys with trust files, and a gallery of people that the key owner has approved.
// Clients are listed, so requests are signed. Budgets are raised with `heft budget`, since attempts
// are many and budgets are not tested here. Everything else has its default value.
class World {
 public:
  static constexpr size_t kEnrolled = 24;

  World();

  std::string operator()(const std::string& name) const { return folder_ / name; }
  const Model& model() const { return model_; }
  const std::vector<std::string>& enrolled() const { return enrolled_; }
  // Samples of people that are in neither the model's nor the thresholds' training, by modality:
  // those with which person i is enrolled, and strangers.
  const std::vector<Vectors>& own() const { return own_; }
  const std::vector<Vectors>& strangers() const { return strangers_; }

  // Runs heft encrypt on one or more rows of each modality; returns the files, unsigned.
  std::vector<Bytes> Encrypt(const std::vector<Vectors>& modalities, SampleUse use,
                             const std::string& keys = "keys", const Args& more = {}) const;
  // Writes the files of a request, signed by a client that the server's trust file lists.
  std::vector<std::string> Send(const std::vector<Bytes>& files);

  // heft-server SUBCOMMAND with model, keys, gallery and the files of a request.
  Args ServerArgs(const std::string& subcommand, const std::vector<std::string>& request) const;
  // Bring: runs heft-server enrol; its templates wait. Activate: runs heft-server pending, heft
  // answer and heft-server apply; returns the output of the last two. Pending: runs heft-server
  // pending.
  Finished Bring(const std::vector<Bytes>& files, const Args& more = {});
  std::pair<nlohmann::json, nlohmann::json> Activate(const Args& more = {}) const;
  nlohmann::json Pending() const;

  // Runs heft-server verify --all if an identity is claimed, otherwise identify --all. Returns the
  // replies by row, or none if the request was refused; then sets `why`.
  std::vector<std::string> Ask(const std::vector<std::string>& request, const std::string& claimed,
                               std::string* why);
  // Keep: moves a file out of reach of Clear; returns its new path. Clear: removes requests and
  // replies.
  std::string Keep(const std::string& path);
  void Clear() const;

  // Runs heft decrypt at the model's threshold for a false match rate; or at that of a model with
  // the same projection, from Harden.
  Fate Decide(const std::string& reply, bool verify, const std::string& rate,
              const std::string& model = "model.heft") const;
  // Harden: trains the model again with --against-wolves, which changes its thresholds alone.
  // Returns the name of its file, and sets `hardened`.
  std::string Harden(Model* hardened) const;
  // The folder of the data set, training people included.
  std::string data_folder() const { return (*this)("data"); }

 private:
  void MakePeople();
  void Train(const std::string& out, const Args& more = {}) const;
  void MakeKeys();
  void Enrol();
  // Runs a program that must succeed; returns its result.
  std::string Run(const char* program, const Args& args) const;
  // Runs the server; its exit code must be 0, or the one for wrong input.
  bool Serve(const Args& args, std::string* why) const;
  std::string New(const std::string& name);

  testing::TemporaryFolder folder_;
  Model model_;
  std::vector<std::string> enrolled_;
  std::vector<Vectors> own_, strangers_;  // a modality each
  size_t files_ = 0;
};

}  // namespace heft::e2e

#endif  // HEFT_TESTS_HOSTILE_WORLD_H_
