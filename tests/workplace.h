// SPDX-License-Identifier: Apache-2.0
// Folders of the roles, and the commands that they run in them.
#ifndef HEFT_TESTS_WORKPLACE_H_
#define HEFT_TESTS_WORKPLACE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "features/dataset.h"
#include "heft/model.h"
#include "tests/process.h"

namespace heft::e2e {

inline const char* const kHeft = HEFT_PROGRAM;
inline const char* const kServer = HEFT_SERVER_PROGRAM;
inline const char* const kHeftPaper = HEFT_PAPER_PROGRAM;

// A folder that is removed with this object. Paths are made below it: w("owner/model.heft").
class Workplace {
 public:
  explicit Workplace(const std::string& name);
  ~Workplace();
  const std::string& root() const { return root_; }
  std::string operator()(const std::string& path) const { return root_ + "/" + path; }
  // What one role hands to another.
  void Copy(const std::string& from, const std::string& to) const;

 private:
  std::string root_;
};

// Runs a program that must succeed; its result as JSON.
nlohmann::json Must(const char* program, Args args);

// heft train: quick, and not good at anything.
Args TrainArgs(const std::string& data, const std::string& out, const Args& more = {});

// Writes rows of a modality of `data` as .npy, and their labels.
void WriteRows(const Dataset& data, const std::string& modality, const std::vector<int>& rows,
               const std::string& npy, const std::string& labels);

// Unit vectors of row `row`, by the data set's modalities.
std::vector<std::vector<double>> UnitVectors(const Dataset& data, int row);

Model ReadModel(const std::string& path);

}  // namespace heft::e2e

#endif  // HEFT_TESTS_WORKPLACE_H_
