#define _GNU_SOURCE

#include "clocks.h"

#include <errno.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../CLinux/simulated.h"

static clockid_t number(enum rondo_clock clock) {
  return clock == RONDO_REAL_TIME ? CLOCK_REALTIME : CLOCK_BOOTTIME;
}

int64_t rondo_clock_now(enum rondo_clock clock) {
  long simulated = rondo_simulate(RONDO_CLOCK_NOW, -1, clock, 0, 0, 0);
  if (simulated != -ENOSYS) return simulated;
  struct timespec time;
  clock_gettime(number(clock), &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int rondo_clock_timer(enum rondo_clock clock) {
  long simulated = rondo_simulate(RONDO_CLOCK, -1, clock, 0, 0, 0);
  if (simulated != -ENOSYS) return (int)simulated;
  int descriptor = timerfd_create(number(clock), TFD_NONBLOCK | TFD_CLOEXEC);
  return descriptor < 0 ? -errno : descriptor;
}

int rondo_clock_arm(int descriptor, enum rondo_clock clock, int64_t nanoseconds) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_CLOCK_ARM, descriptor, nanoseconds, 0, 0, 0);
  struct itimerspec value = {{0, 0}, {nanoseconds / 1000000000, nanoseconds % 1000000000}};
  int flags = TFD_TIMER_ABSTIME | (clock == RONDO_REAL_TIME ? TFD_TIMER_CANCEL_ON_SET : 0);
  return timerfd_settime(descriptor, flags, &value, NULL) ? -errno : 0;
}

void rondo_clock_drain(int descriptor) {
  uint64_t count;
  if (rondo_is_simulated(descriptor)) {
    rondo_simulate(RONDO_RECEIVE, descriptor, (long)&count, sizeof count, 0, 0);
    return;
  }
  while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {}
}
