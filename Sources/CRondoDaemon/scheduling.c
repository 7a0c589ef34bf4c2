#define _GNU_SOURCE
#include "scheduling.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// The kernel's struct sched_attr, of its first version.
struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

static int get(int thread, struct attributes *attributes) {
  memset(attributes, 0, sizeof *attributes);
  return syscall(SYS_sched_getattr, thread, attributes, sizeof *attributes, 0) ? -errno : 0;
}

static int is_real_time(const struct attributes *attributes) {
  return attributes->policy == SCHED_FIFO || attributes->policy == SCHED_RR;
}

int rondo_scheduling_of(int thread, struct rondo_scheduling *scheduling) {
  struct attributes attributes;
  int result = get(thread, &attributes);
  if (result) return result;
  int real_time = is_real_time(&attributes);
  scheduling->keeps_nice = 0;
  scheduling->nice = attributes.nice;
  scheduling->priority = real_time ? (int)attributes.priority : 0;
  scheduling->slice = real_time ? 0 : (int64_t)attributes.runtime;
  return 0;
}

int rondo_schedule(int thread, const struct rondo_scheduling *scheduling) {
  struct attributes old, new = {.size = sizeof new};
  int result = get(thread, &old);
  if (result) return result;
  if (scheduling->priority > 0) {
    new.policy = SCHED_FIFO;
    new.priority = (uint32_t)scheduling->priority;
  } else {
    new.policy = SCHED_OTHER;
    new.nice = scheduling->keeps_nice ? old.nice : scheduling->nice;
    new.runtime = (uint64_t)scheduling->slice;
  }
  if (syscall(SYS_sched_setattr, thread, &new, 0)) return -errno;
  if (scheduling->priority > 0 || !scheduling->slice) return 0;
  // A kernel without slices ignores them, and reads 0.
  struct attributes now;
  if (!get(thread, &now) && now.runtime == new.runtime) return 0;
  old.size = sizeof old;
  old.flags = 0;
  syscall(SYS_sched_setattr, thread, &old, 0);
  return -ENOTSUP;
}

// A list of processors begins with the lowest: 0-3,8. Minus one where the file does not exist.
static int first_in(const char *path) {
  int first = -1;
  FILE *file = fopen(path, "re");
  if (!file) return -1;
  if (fscanf(file, "%d", &first) != 1) first = -1;
  fclose(file);
  return first;
}

int rondo_first_of_core(int processor) {
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", processor);
  int first = first_in(path);
  return first < 0 ? processor : first;
}

int rondo_first_of_cache(int processor) {
  // The caches of a processor are numbered from the nearest to the last.
  int last = processor;
  for (int index = 0;; index++) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", processor, index);
    int first = first_in(path);
    if (first < 0) return last;
    last = first;
  }
}
