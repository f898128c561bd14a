// SPDX-License-Identifier: Apache-2.0
// For tests: records the calls by which a program writes to one of its files, or makes them fail. A
// program that links recorded_disk.cc uses these calls instead of the system's.
#ifndef HEFT_GALLERY_RECORDED_DISK_H_
#define HEFT_GALLERY_RECORDED_DISK_H_

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <vector>

namespace heft {

// Event: a call that has changed the file, or made changes durable.
struct Event {
  enum Kind { kWrite, kDurableWrite, kSync, kMark } kind;
  uint64_t at = 0;
  std::vector<uint8_t> bytes = {};
};

// Disk: the record of one file, and when its calls fail.
struct Disk {
  dev_t device = 0;
  ino_t inode = 0;
  std::vector<Event>* log = nullptr;
  int calls = 0;     // so far
  int fail_at = -1;  // this call, and all after it if `for_good`
  int error = 0;     // with which; 0: half of it is written
  bool for_good = false;
  int kill_at = -1;  // after this call the process is killed

  bool Is(int fd) const;
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

// Pwrite: the system's, unrecorded.
ssize_t Pwrite(int fd, const void* bytes, size_t size, off_t at);

}  // namespace heft

#endif  // HEFT_GALLERY_RECORDED_DISK_H_
