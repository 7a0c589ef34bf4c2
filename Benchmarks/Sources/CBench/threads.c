// Threads and processors: what the sender needs to know that a loop is parked, and where.

#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int bench_allowed_processors(int *processors, int capacity) {
  cpu_set_t set;
  int count = 0;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  for (int i = 0; i < CPU_SETSIZE && count < capacity; i += 1) {
    if (CPU_ISSET(i, &set)) processors[count++] = i;
  }
  return count;
}

bool bench_pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

bool bench_give_way(void) {
  struct sched_param none = {.sched_priority = 0};
  return sched_setscheduler(0, SCHED_IDLE, &none) == 0;
}

bool bench_is_ordinary(void) {
  return sched_getscheduler(0) == SCHED_OTHER;
}

int bench_thread_id(void) {
  return (int)syscall(SYS_gettid);
}

int bench_thread_watch(int thread) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  return open(path, O_RDONLY | O_CLOEXEC);
}

bool bench_thread_sleeps(int watch) {
  // "id (name) state ...": the name may hold anything, so the state is found from its closing parenthesis.
  char text[128];
  ssize_t length = pread(watch, text, sizeof text - 1, 0);
  if (length <= 0) return false;
  text[length] = 0;
  const char *end = strrchr(text, ')');
  return end != NULL && end[1] == ' ' && end[2] == 'S';
}

void bench_pause(int64_t nanoseconds) {
  struct timespec pause = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  nanosleep(&pause, NULL);
}
