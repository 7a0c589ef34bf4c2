// How the kernel schedules a thread: sched_setattr(2). Each call answers with zero, or with minus errno. And which processors
// are near each other: Documentation/ABI/stable/sysfs-devices-system-cpu of the kernel.
#pragma once

#include <stdint.h>

// `priority` is above 0 for real time (SCHED_FIFO), where `nice` and `slice` have no meaning. `slice` in nanoseconds; 0 for
// the kernel's own.
struct rondo_scheduling {
  // In a request: `nice` stays as it is.
  int keeps_nice;
  int nice;
  int priority;
  int64_t slice;
};

// Of a thread; 0 for the calling one. Where the kernel has no slices (Linux 6.12), `slice` is 0.
int rondo_scheduling_of(int thread, struct rondo_scheduling *scheduling);

// -ENOTSUP: the kernel has no slices of a thread's own. Nothing is changed.
int rondo_schedule(int thread, const struct rondo_scheduling *scheduling);

// The lowest processor of the same core, and of those with the same last cache; the processor itself where sysfs does not say.
int rondo_first_of_core(int processor);
int rondo_first_of_cache(int processor);
