// SPDX-License-Identifier: Apache-2.0
// For tests alone: generators of a known seed, and folders that no two runs share. Nothing of this
// is in a library or program that is shipped (scripts/check-randomness,
// scripts/check-server-symbols).
#ifndef HEFT_BASE_TESTING_H_
#define HEFT_BASE_TESTING_H_

#include <string>
#include <string_view>

#include "base/csprng.h"

namespace heft {

// TestCsprng: a generator whose stream is known, the same for the same seed on every machine.
class TestCsprng : public Csprng {
 public:
  explicit TestCsprng(const Seed& seed, uint64_t stream = 0) : Csprng(seed, stream) {}
};

namespace testing {

// FixRandomness: from here on, what this process takes from the operating system's generator, in
// whatever thread, is one stream that `name` decides. Generators that are there already go on.
// Test programs call it for every test (testing_main.cc).
void FixRandomness(std::string_view name);

// SourcePath: the absolute path of `name` in the source tree that this program was built from. Only
// testing_paths.cc knows that tree, so all other objects are the same in every checkout.
std::string SourcePath(std::string_view name);

// TemporaryFolder: an empty folder of a name that nobody else has, removed with this object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  // The path of `name` in it.
  std::string operator/(std::string_view name) const;

 private:
  std::string path_;
};

}  // namespace testing
}  // namespace heft

#endif  // HEFT_BASE_TESTING_H_
