// Timers on the clocks that libevent has none for: timerfd_create(2). Each call answers with minus errno for an error.
#pragma once

#include <stdint.h>

enum rondo_clock { RONDO_REAL_TIME, RONDO_BOOT_TIME };

// What a clock shows, in nanoseconds: clock_gettime(2).
int64_t rondo_clock_now(enum rondo_clock clock);

// A descriptor that is readable when its date has come. Closed on exec, never blocks.
int rondo_clock_timer(enum rondo_clock clock);

// Arms it for a date of its clock, one nanosecond after the beginning at the earliest; 0 disarms it.
//
// One on the real time is readable as well when the clock is set. -ECANCELED: that has happened since it was armed
// last, and now it is armed.
int rondo_clock_arm(int descriptor, enum rondo_clock clock, int64_t nanoseconds);

// Makes it unreadable until its next date.
void rondo_clock_drain(int descriptor);
