// SPDX-License-Identifier: Apache-2.0
// A disk that fails, for tests. To be included by one file of a program.
#ifndef HEFT_GALLERY_TESTING_H_
#define HEFT_GALLERY_TESTING_H_

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

// The disk refuses the n-th flush: this fsync stands in for the C library's in this program.
static int g_flushes = 0, g_failing_flush = 0;
extern "C" int fsync(int fd) {
  if (++g_flushes == g_failing_flush) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, fd));
}

#endif  // HEFT_GALLERY_TESTING_H_
