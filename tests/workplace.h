// SPDX-License-Identifier: Apache-2.0
// Folders of the roles, and the commands that the roles run in them.
#ifndef HEFT_TESTS_WORKPLACE_H_
#define HEFT_TESTS_WORKPLACE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/testing.h"
#include "features/dataset.h"
#include "heft/model.h"
#include "tests/process.h"

namespace heft::e2e {

// The programs of this build (programs.cc).
extern const char* const kHeft;
extern const char* const kServer;
extern const char* const kSeal;
extern const char* const kHeftPaper;

// kScoreNoise, kRounding: the largest error of an encrypted score, before its rounding to 0.001 and
// by it. Keys and noise are fresh in every run here. A score's error is a Gaussian times the
// secret's value in its slot, so it has a Laplace distribution; its measured deviation is 1.3e-4 to
// 1.8e-4 under the models of these tests. It exceeds 4e-3 with probability exp(-31), 2e-14, and a
// run checks a few hundred scores. (Tests in fusion/, with known keys, check the 2e-3 that the
// product promises.)
constexpr double kScoreNoise = 4e-3, kRounding = 5e-4;
// kNormNoise: the largest error of |z|^2. The noise estimate gives a smaller bound
// (fusion/fuser_test.cc); in one slot it is exceeded with a probability below 2e-10.
constexpr double kNormNoise = 3e-2;

// A folder that is removed with this object. Paths are made below it: w("owner/model.heft").
class Workplace {
 public:
  Workplace();
  const std::string& root() const { return folder_.path(); }
  std::string operator()(const std::string& path) const { return folder_ / path; }
  // Copies a file that one role hands to another.
  void Copy(const std::string& from, const std::string& to) const;

 private:
  testing::TemporaryFolder folder_;
};

// Runs a program that must succeed; returns its result as JSON.
nlohmann::json Must(const char* program, Args args);

// ServersCommand: whether the command is heft-server's, and heft has none or a different one of
// that name.
bool ServersCommand(const Args& args);

// WithRow: adds row 0 to identify and verify without a row, since the files of most tests hold
// several samples.
Args WithRow(Args args);

// RaiseBudget: lets a test query a key as often as it likes.
void RaiseBudget(const std::string& model, const std::string& secret_key, Args more = {});

// TrainArgs: a quick heft train, whose model is poor.
Args TrainArgs(const std::string& data, const std::string& out, const Args& more = {});

// ProbeOf: the name of the file that EncryptBoth writes for identifications beside a sample file.
inline std::string ProbeOf(const std::string& samples) { return samples + ".probe"; }
// EncryptBoth: runs heft encrypt twice, for enrolment and verification and for identification.
// Returns the output of the first.
nlohmann::json EncryptBoth(Args args);
// WithProbes: the arguments of an identification with ProbeOf(FILE) for each --in FILE that has
// one; other subcommands as they are.
Args WithProbes(Args args);

// ServerFolder: the folder of a gallery's server key, for FOLDER, FOLDER:NAME and postgres:SERVICE.
std::string ServerFolder(const std::string& gallery);

// Believe: adds a gallery's server to a trust file and pins the gallery, unless they are there
// already. Tests have several galleries under one key.
void Believe(const std::string& trust, const std::string& gallery);

// Unpin: removes all pins from a trust file, as heft keygen makes it.
void Unpin(const std::string& trust);

// EnrolNow: runs heft-server enrol; then the key owner of `secret_key` approves all pending
// templates, and none may be rejected. Returns the output of heft-server apply.
nlohmann::json EnrolNow(const Args& enrol, const std::string& secret_key);
// ActivatePending: the second half of EnrolNow, with the options of the first. `owner`: further
// options of heft answer.
nlohmann::json ActivatePending(const Args& enrol, const std::string& secret_key,
                               const Args& owner = {}, size_t rejected = 0);

// Writes rows of a modality of `data` as .npy, and their labels.
void WriteRows(const Dataset& data, const std::string& modality, const std::vector<int>& rows,
               const std::string& npy, const std::string& labels);

// Unit vectors of row `row`, by the data set's modalities.
std::vector<std::vector<double>> UnitVectors(const Dataset& data, int row);

Model ReadModel(const std::string& path);

}  // namespace heft::e2e

#endif  // HEFT_TESTS_WORKPLACE_H_
