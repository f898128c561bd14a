// SPDX-License-Identifier: Apache-2.0
// For tests: records the calls by which a program writes to some of its files, or makes them fail.
// A program that links recorded_disk.cc uses these calls instead of the system's.
#ifndef HEFT_STORE_RECORDED_DISK_H_
#define HEFT_STORE_RECORDED_DISK_H_

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heft {

// Event: a call that has changed a file, or made its changes durable. kLost: a sync that failed,
// after which the system may have forgotten the changes.
struct Event {
  enum Kind { kWrite, kCut, kHole, kSync, kLost, kMark } kind;
  size_t file = 0;
  uint64_t at = 0;    // kCut: the file's new length
  uint64_t size = 0;  // of a hole
  std::vector<uint8_t> bytes = {};
};

// Disk: the record of some files, and when its calls fail.
struct Disk {
  std::vector<std::pair<dev_t, ino_t>> files = {};
  std::vector<Event>* log = nullptr;
  int calls = 0;     // so far
  int fail_at = -1;  // this call, and all after it if `for_good`
  int error = 0;     // with which; 0: half of it is written
  bool for_good = false;
  int kill_at = -1;  // after this call the process is killed

  // Find: a file's place, or -1.
  int Find(int fd) const;
  bool Fails() {
    const int call = calls++;
    return fail_at >= 0 && (for_good ? call >= fail_at : call == fail_at);
  }
  // Made: the call that Fails was asked for.
  void Made() const {
    if (kill_at >= 0 && calls - 1 == kill_at) raise(SIGKILL);
  }
};
extern Disk g_disk;

// DiskOf: of the files of a store in a folder that are durable: store.sqlite, its log,
// store.blocks.
inline constexpr const char* kStoreFiles[] = {"store.sqlite", "store.sqlite-wal", "store.blocks"};
Disk DiskOf(const std::string& folder);

// Pwrite: the system's, unrecorded.
ssize_t Pwrite(int fd, const void* bytes, size_t size, off_t at);

}  // namespace heft

#endif  // HEFT_STORE_RECORDED_DISK_H_
