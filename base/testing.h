// SPDX-License-Identifier: Apache-2.0
// For tests only: generators with a known seed, and folders that no two runs share. It is not part
// of any shipped library or program (scripts/check-randomness, scripts/check-server-symbols).
#ifndef HEFT_BASE_TESTING_H_
#define HEFT_BASE_TESTING_H_

#include <string>
#include <string_view>

#include "base/csprng.h"

namespace heft {

// TestCsprng: a generator with a known stream, the same for the same seed on every machine.
class TestCsprng : public Csprng {
 public:
  explicit TestCsprng(const Seed& seed, uint64_t stream = 0) : Csprng(seed, stream) {}
};

namespace testing {

// FixRandomness: from now on all randomness that this process takes from the operating system, in
// every thread, is one stream determined by `name`. Existing generators are not affected. Test
// programs call it for every test (testing_main.cc).
void FixRandomness(std::string_view name);

// SourcePath: the absolute path of `name` in the source tree of this program. Only testing_paths.cc
// depends on that tree, so all other objects are the same in every checkout.
std::string SourcePath(std::string_view name);

// TemporaryFolder: an empty folder with a unique name, removed with this object.
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
