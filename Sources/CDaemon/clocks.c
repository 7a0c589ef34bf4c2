#define _GNU_SOURCE

#include "clocks.h"

#include <errno.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static clockid_t number(enum rondo_clock clock) {
  return clock == RONDO_REAL_TIME ? CLOCK_REALTIME : CLOCK_BOOTTIME;
}

int64_t rondo_clock_now(enum rondo_clock clock) {
  struct timespec time;
  clock_gettime(number(clock), &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int rondo_clock_timer(enum rondo_clock clock) {
  int descriptor = timerfd_create(number(clock), TFD_NONBLOCK | TFD_CLOEXEC);
  return descriptor < 0 ? -errno : descriptor;
}

int rondo_clock_arm(int descriptor, enum rondo_clock clock, int64_t nanoseconds) {
  struct itimerspec value = {{0, 0}, {nanoseconds / 1000000000, nanoseconds % 1000000000}};
  int flags = TFD_TIMER_ABSTIME | (clock == RONDO_REAL_TIME ? TFD_TIMER_CANCEL_ON_SET : 0);
  return timerfd_settime(descriptor, flags, &value, NULL) ? -errno : 0;
}

void rondo_clock_drain(int descriptor) {
  uint64_t count;
  while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {}
}
