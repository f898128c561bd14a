// SPDX-License-Identifier: Apache-2.0
// Folders of the roles, and the commands that they run in them.
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
extern const char* const kHeftPaper;

// kScoreNoise, kRounding: how far an encrypted score may be off, before and by its rounding to
// 0.001. Keys and noise are fresh every run here. A score's error is a Gaussian times the secret's
// value in its slot, so its distribution is Laplace's; measured, with a deviation of 1.3e-4
// to 1.8e-4 under the models of these tests. 4e-3 is then exceeded with a probability of exp(-31),
// 2e-14, and a run looks at a few hundred scores. (The 2e-3 that the product promises are held in
// fusion/, with known keys.)
constexpr double kScoreNoise = 4e-3, kRounding = 5e-4;
// kNormNoise: how far |z|^2 may be off. The noise estimate bounds it by less
// (fusion/fuser_test.cc); in one slot it is exceeded with a probability below 2e-10.
constexpr double kNormNoise = 3e-2;

// A folder that is removed with this object. Paths are made below it: w("owner/model.heft").
class Workplace {
 public:
  Workplace();
  const std::string& root() const { return folder_.path(); }
  std::string operator()(const std::string& path) const { return folder_ / path; }
  // What one role hands to another.
  void Copy(const std::string& from, const std::string& to) const;

 private:
  testing::TemporaryFolder folder_;
};

// Runs a program that must succeed; its result as JSON.
nlohmann::json Must(const char* program, Args args);

// ServersCommand: whether heft-server has it, and heft does not, or another one of this name.
bool ServersCommand(const Args& args);

// WithRow: of identify and verify row 0, where nothing else is said: the files of most tests hold
// several samples.
Args WithRow(Args args);

// Lets a key be asked as often as a test likes.
void RaiseBudget(const std::string& model, const std::string& secret_key, Args more = {});

// heft train: quick, and not good at anything.
Args TrainArgs(const std::string& data, const std::string& out, const Args& more = {});

// ServerFolder: where a gallery's server has its key: of FOLDER, FOLDER:NAME and postgres:SERVICE.
std::string ServerFolder(const std::string& gallery);

// Adds a gallery's server to those that a trust file believes, and pins the gallery, unless they are
// there already: tests have several galleries of one key.
void Believe(const std::string& trust, const std::string& gallery);

// Takes all pins out of a trust file, as heft keygen makes it.
void Unpin(const std::string& trust);

// Runs heft-server enrol, and lets the key owner of `secret_key` admit what it brings, and all that
// waits: none may be rejected. What heft-server release printed.
nlohmann::json EnrolNow(const Args& enrol, const std::string& secret_key);
// The second half of it, with the options of the first; `owner`: further ones of heft admit.
nlohmann::json AdmitWaiting(const Args& enrol, const std::string& secret_key,
                            const Args& owner = {}, size_t rejected = 0);

// Writes rows of a modality of `data` as .npy, and their labels.
void WriteRows(const Dataset& data, const std::string& modality, const std::vector<int>& rows,
               const std::string& npy, const std::string& labels);

// Unit vectors of row `row`, by the data set's modalities.
std::vector<std::vector<double>> UnitVectors(const Dataset& data, int row);

Model ReadModel(const std::string& path);

}  // namespace heft::e2e

#endif  // HEFT_TESTS_WORKPLACE_H_
