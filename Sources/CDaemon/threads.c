#define _GNU_SOURCE

#include "threads.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

// More than the kernel can be built for (NR_CPUS); the library's own cpu_set_t ends at 1024.
enum { most = 8192, word = 8 * sizeof(unsigned long) };

int rondo_allowed_processors(int *processors, int limit) {
  unsigned long mask[most / word] = {0};
  if (sched_getaffinity(0, sizeof mask, (cpu_set_t *)mask)) return -errno;
  int count = 0;
  for (int number = 0; number < most && count < limit; number++) {
    if (mask[number / word] >> number % word & 1) processors[count++] = number;
  }
  return count;
}

int rondo_pin_thread(int processor) {
  unsigned long mask[most / word] = {0};
  if (processor < 0 || processor >= most) return -EINVAL;
  mask[processor / word] = 1ul << processor % word;
  return sched_setaffinity(0, sizeof mask, (cpu_set_t *)mask) ? -errno : 0;
}
