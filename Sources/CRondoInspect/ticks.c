#define _GNU_SOURCE
#include "ticks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../CLinux/clock.h"

// Nanoseconds between two readings that tell the length of a tick, and between readings from then on.
enum { least_span = 4000000, usual_span = 10000000 };
// Two lengths of a tick that differ by more than one part in so many are of different clocks: the machine slept.
enum { tolerance = 2000 };
// A thread that could not read both clocks in so many ticks, some microseconds, was interrupted.
enum { reading_ticks = 10000, reading_attempts = 4 };

#if defined(__x86_64__)

static int is_trusted;

// The kernel uses the ticks if they run evenly, and alike on all processors.
static void ask_kernel(void) {
  FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (!file) return;
  char name[32] = "";
  is_trusted = fgets(name, sizeof name, file) && !strcmp(name, "tsc\n");
  fclose(file);
}

static int differ(uint64_t scale, uint64_t other) {
  uint64_t difference = scale > other ? scale - other : other - scale;
  return difference > scale / tolerance;
}

int64_t rondo_ticks_renew(struct rondo_ticks *clock) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, ask_kernel);
  if (!is_trusted) return rondo_monotonic_now();
  uint64_t ticks = 0;
  int64_t time = 0;
  for (int attempt = 0; attempt < reading_attempts; attempt++) {
    ticks = __builtin_ia32_rdtsc();
    time = rondo_monotonic_now();
    if (__builtin_ia32_rdtsc() - ticks < reading_ticks) break;
    // Nothing is learned from a bad reading.
    if (attempt == reading_attempts - 1) return time;
  }
  int64_t span = time - clock->time;
  if (clock->time != 0 && span < (clock->limit ? usual_span / 2 : least_span)) {
    if (clock->limit) *clock = (struct rondo_ticks){.ticks = ticks, .time = time};
    return time;
  }
  uint64_t scale = 0;
  if (clock->time != 0 && ticks > clock->ticks) {
    scale = (uint64_t)(((unsigned __int128)span << 32) / (ticks - clock->ticks));
    if (clock->scale != 0 && differ(scale, clock->scale)) scale = 0;
  }
  // The product of ticks and scale stays below 2^64: 10 ms are 10^7 x 2^32.
  uint64_t limit = scale ? ((uint64_t)usual_span << 32) / scale : 0;
  *clock = (struct rondo_ticks){.ticks = ticks, .time = time, .scale = scale, .limit = limit};
  return time;
}

#else

int64_t rondo_ticks_renew(struct rondo_ticks *clock) {
  (void)clock;
  return rondo_monotonic_now();
}

#endif
