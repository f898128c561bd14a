// SPDX-License-Identifier: Apache-2.0
// A store's database (store/folder.h). The input is laid over a sound one, byte by byte, by
// exclusive or. Whatever comes of it, every use of the store ends with a result or with a refusal.
#include <algorithm>
#include <fstream>

#include "base/files.h"
#include "base/testing.h"
#include "fuzz/fuzz.h"
#include "store/folder.h"
#include "store/store.h"

namespace heft::fuzz {
namespace {

absl::Status Fill(Store& store, uint8_t first) {
  HEFT_ASSIGN_OR_RETURN(const auto lock, store.Lock(absl::Seconds(1)));
  HEFT_ASSIGN_OR_RETURN(const auto writer, store.Write(*lock));
  for (uint8_t i = 0; i < 60; ++i) {
    const uint8_t key[2] = {i, first};
    HEFT_RETURN_IF_ERROR(writer->Put(i % 2 == 0 ? Table::kNames : Table::kBlocks, key,
                                     std::vector<uint8_t>(20 * (1 + i), first)));
  }
  HEFT_RETURN_IF_ERROR(writer->Commit());
  return store.Scrub(*lock, absl::ZeroDuration());
}

absl::Status Use(const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(folder, StoreMode::kWrite));
  const absl::Status checked = store->Check();
  HEFT_ASSIGN_OR_RETURN(auto reader, store->Read());
  for (size_t i = 0; i < kTables; ++i) {
    HEFT_RETURN_IF_ERROR(reader->Scan(static_cast<Table>(i), {}, [](ByteSpan key, ByteSpan value) {
      volatile uint8_t sum = 0;  // reads every byte
      for (const uint8_t byte : key) sum = sum + byte;
      for (const uint8_t byte : value) sum = sum + byte;
      return true;
    }));
  }
  reader = nullptr;
  HEFT_RETURN_IF_ERROR(Fill(*store, 2));
  return checked;
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heft;
  static const testing::TemporaryFolder folder;
  static const std::string path = StorePath(folder / "store");
  static const std::string good = [] {
    const auto store = OpenStore(folder / "store", StoreMode::kCreate);
    fuzz::Check(store.ok() && fuzz::Fill(**store, 1).ok(), "a sound store");
    return *ReadTextFile(path);
  }();
  std::string bytes = good;
  for (size_t i = 0; i < std::min(size, bytes.size()); ++i) bytes[i] ^= static_cast<char>(data[i]);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  std::ofstream(path + "-wal", std::ios::trunc);
  const absl::Status status = fuzz::Use(folder / "store");
  // Unavailable: a place beyond what the file system allows.
  if (!status.ok() && !absl::IsUnavailable(status)) fuzz::CheckRefusal(status);
  return 0;
}
