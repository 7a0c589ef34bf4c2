// The programs of the workload `start`: each opens its loop, has one timer of no delay, and ends in its callout.

#ifndef START_H
#define START_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/// Tells the parent when the callout came, and ends the process.
static inline void start_reached(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
  _exit(write(STDOUT_FILENO, &now, sizeof now) == sizeof now ? 0 : 1);
}

/// The exit status of a program that was built without its library.
enum { start_absent = 3 };

#endif
