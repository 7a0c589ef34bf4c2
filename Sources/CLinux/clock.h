// The clock that loops go by.
#pragma once

#include <stdint.h>
#include <time.h>

// Sleeps for less than a second: nanosleep(2).
static inline void rondo_nap(int64_t nanoseconds) {
  struct timespec time = {.tv_sec = 0, .tv_nsec = nanoseconds};
  nanosleep(&time, NULL);
}

// CLOCK_MONOTONIC in nanoseconds: clock_gettime(2).
static inline int64_t rondo_monotonic_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
