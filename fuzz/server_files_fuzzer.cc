// SPDX-License-Identifier: Apache-2.0
// A small file that a server keeps beside a gallery: the key of the stand-ins (matcher/stand_in.h).
#include <sys/stat.h>

#include <algorithm>

#include "base/envelope.h"
#include "base/files.h"
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"
#include "matcher/stand_in.h"

namespace heft::fuzz {
namespace {

void ReadStandInKey(const Folder& folder, ByteSpan bytes) {
  const std::string path = folder.path() + "/stand-in.key";
  folder.Write("stand-in.key", bytes);
  Check(chmod(path.c_str(), 0600) == 0, "a file of its own");
  const auto key = StandInKey(folder.path());
  if (!key.ok()) return CheckRefusal(key.status());
  const auto kept = ReadFile(path);
  Check(
      kept.ok() && std::search(kept->begin(), kept->end(), key->begin(), key->end()) != kept->end(),
      "the key that is in the file");
  // An empty file is one that is being made, and is made now.
  Check(bytes.empty() || std::equal(kept->begin(), kept->end(), bytes.begin(), bytes.end()),
        "a key that is there stays");
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heft::fuzz;  // NOLINT
  static const Folder folder;
  const heft::ByteSpan input(data, size);
  ReadStandInKey(folder, input);
  ReadStandInKey(folder, Resealed(input));
  return 0;
}
