// The clock that loops go by.
#pragma once

#include <stdint.h>
#include <time.h>

// CLOCK_MONOTONIC in nanoseconds: clock_gettime(2).
static inline int64_t rondo_monotonic_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
