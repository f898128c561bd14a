// SPDX-License-Identifier: Apache-2.0
// The operators' side of the hostile suite: key owner, server and clients who do what the manual
// says, each step a process of the real programs with default flags.
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
// Vectors: of one modality, a row each.
using Vectors = std::vector<std::vector<float>>;

// Die: the suite itself cannot go on; what was not expected is nobody's success.
[[noreturn]] void Die(const std::string& what);
template <typename T>
T Ok(absl::StatusOr<T> value) {
  if (!value.ok()) Die(std::string(value.status().message()));
  return *std::move(value);
}

// What became of a probe.
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

// World: a model, keys with trust files, and a gallery of people whom the key owner has admitted.
// Clients are listed, so requests are signed; budgets are raised, by `heft budget`, as an operator
// would for a test: attempts are many, and it is not budgets that are tried here. Everything else
// is as it comes.
class World {
 public:
  static constexpr size_t kEnrolled = 24;

  World();

  std::string operator()(const std::string& name) const { return folder_ / name; }
  const Model& model() const { return model_; }
  const std::vector<std::string>& enrolled() const { return enrolled_; }
  // Samples of people of whom neither the model nor its thresholds know anything, a modality each:
  // what person i is enrolled with, and strangers.
  const std::vector<Vectors>& own() const { return own_; }
  const std::vector<Vectors>& strangers() const { return strangers_; }

  // heft encrypt, of a row or many for each modality: the files, not signed.
  std::vector<Bytes> Encrypt(const std::vector<Vectors>& modalities, SampleUse use,
                             const std::string& keys = "keys", const Args& more = {}) const;
  // The files of a request, signed by a client whom the server's trust file lists.
  std::vector<std::string> Send(const std::vector<Bytes>& files);

  // heft-server SUBCOMMAND with model, keys, gallery and the files of a request.
  Args ServerArgs(const std::string& subcommand, const std::vector<std::string>& request) const;
  // heft-server enrol, as it ends: what it brings waits. Admit: heft-server pending, heft admit and
  // heft-server release; what the last two print.
  Finished Bring(const std::vector<Bytes>& files, const Args& more = {});
  std::pair<nlohmann::json, nlohmann::json> Admit() const;

  // heft-server verify --all where somebody is claimed, else identify --all: the replies by row;
  // none where the request was turned away, for `why`.
  std::vector<std::string> Ask(const std::vector<std::string>& request, const std::string& claimed,
                               std::string* why);
  // Keeps a file that Clear would remove: its new path. Clear: removes requests and replies.
  std::string Keep(const std::string& path);
  void Clear() const;

  // heft decrypt at the model's threshold for a false match rate.
  Fate Decide(const std::string& reply, bool verify, const std::string& rate) const;

 private:
  void MakePeople();
  void MakeKeys();
  void Enrol();
  // A program that must succeed; its result.
  std::string Run(const char* program, const Args& args) const;
  // Of the server: the exit code must be 0, or the one for wrong input.
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
