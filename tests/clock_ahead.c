/* SPDX-License-Identifier: Apache-2.0
 * A clock that is wrong by HEFT_TEST_AHEAD seconds, for a program that is started with this library
 * in LD_PRELOAD. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* out) {
  const int result = (int)syscall(SYS_clock_gettime, clock, out);
  const char* ahead = getenv("HEFT_TEST_AHEAD");
  if (result == 0 && clock == CLOCK_REALTIME && ahead != NULL) out->tv_sec += atoll(ahead);
  return result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
