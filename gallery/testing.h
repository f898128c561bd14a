// SPDX-License-Identifier: Apache-2.0
// A failing disk, for tests. Included by one file of a program.
#ifndef HEFT_GALLERY_TESTING_H_
#define HEFT_GALLERY_TESTING_H_

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

// The disk fails the n-th flush. These functions replace the C library's in this program, and in
// SQLite's library: its changes are made durable by store/vfs.cc, with these.
static int g_flushes = 0, g_failing_flush = 0;
static int Flush(long number, int fd) {
  if (++g_flushes == g_failing_flush) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(number, fd));
}
extern "C" __attribute__((visibility("default"))) int fsync(int fd) { return Flush(SYS_fsync, fd); }
extern "C" __attribute__((visibility("default"))) int fdatasync(int fd) {
  return Flush(SYS_fdatasync, fd);
}

#endif  // HEFT_GALLERY_TESTING_H_
