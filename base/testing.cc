// SPDX-License-Identifier: Apache-2.0
#include "base/testing.h"

#include <sodium.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>

#include "base/bytes.h"

namespace heft::testing {
namespace {

std::mutex g_mutex;
std::unique_ptr<TestCsprng> g_source;  // under g_mutex; made before it is in use

void FillFromSource(void* out, const size_t size) {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_source->Fill({static_cast<uint8_t*>(out), size});
}

uint32_t NumberFromSource() {
  uint32_t number;
  FillFromSource(&number, sizeof(number));
  return number;
}

// Replaces libsodium's access to the operating system's randomness. Shipped code does not depend on
// it.
randombytes_implementation g_implementation = {
    .implementation_name = [] { return "fixed, for tests"; },
    .random = NumberFromSource,
    .stir = nullptr,
    .uniform = nullptr,
    .buf = FillFromSource,
    .close = nullptr,
};

}  // namespace

void FixRandomness(std::string_view name) {
  if (sodium_init() < 0)
    std::abort();  // which draws some, so that a process's first test had others
  Seed seed;
  const auto hash = HashBytes(AsBytes(name));
  static_assert(sizeof(hash) == sizeof(seed));
  std::copy(hash.begin(), hash.end(), seed.begin());
  std::lock_guard<std::mutex> lock(g_mutex);
  g_source = std::make_unique<TestCsprng>(seed);
  randombytes_set_implementation(&g_implementation);
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  path_ = (std::filesystem::temp_directory_path(error) / "heft-test-XXXXXX").string();
  if (error || mkdtemp(path_.data()) == nullptr) {
    std::fprintf(stderr, "cannot make a temporary folder %s: set TMPDIR\n", path_.c_str());
    std::abort();
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::operator/(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

}  // namespace heft::testing
