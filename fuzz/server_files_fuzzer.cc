// SPDX-License-Identifier: Apache-2.0
// Small files that a server keeps beside a gallery: the key of the stand-ins (matcher/stand_in.h)
// and the requests that it has taken (gallery/request_log.h).
#include <sys/stat.h>

#include <algorithm>

#include "base/envelope.h"
#include "base/files.h"
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"
#include "gallery/request_log.h"
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

void ReadLog(ByteSpan bytes) {
  const auto log = ParseRequestLog(bytes, "input");
  if (!log.ok()) return CheckRefusal(log.status());
  const std::vector<uint8_t> again = SerializeRequestLog(log->rows);
  const auto read = ParseRequestLog(again, "again");
  Check(read.ok() && !read->torn && read->rows == log->rows, "a log reads what it writes");
  Check(log->torn || std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
        "a whole log writes the bytes that it was read from");
}

// The records with right checks, as a fuzzer cannot guess them; the last piece stays as it is.
std::vector<uint8_t> Recorded(ByteSpan bytes) {
  constexpr size_t kHead = 16, kBody = 32, kRecord = 40;
  std::vector<uint8_t> out(bytes.begin(), bytes.end());
  for (size_t at = kHead; at + kRecord <= out.size(); at += kRecord) {
    const Hash hash = HashBytes(ByteSpan(out).subspan(at, kBody));
    std::copy_n(hash.begin(), kRecord - kBody, out.begin() + static_cast<long>(at + kBody));
  }
  return out;
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heft::fuzz;  // NOLINT
  static const Folder folder;
  const heft::ByteSpan input(data, size);
  ReadStandInKey(folder, input);
  ReadStandInKey(folder, Resealed(input));
  ReadLog(input);
  ReadLog(Recorded(input));
  return 0;
}
