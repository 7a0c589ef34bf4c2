// What the process used, by the kernel's and the allocator's account.

#define _GNU_SOURCE
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

double bench_load(void) {
  double load = -1;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

int64_t bench_clock_time(clockid_t clock) {
  struct timespec t;
  return clock_gettime(clock, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

int64_t bench_cpu_time(void) {
  return bench_clock_time(CLOCK_PROCESS_CPUTIME_ID);
}

clockid_t bench_thread_clock(void) {
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  pthread_getcpuclockid(pthread_self(), &clock);
  return clock;
}

int64_t bench_compute(int64_t nanoseconds) {
  int64_t begin = bench_clock_time(CLOCK_THREAD_CPUTIME_ID);
  int64_t used = 0;
  while (used < nanoseconds) {
    // Some hundred nanoseconds between two readings, which are system calls: most of the time is the program's.
    for (int i = 0; i < 1000; i += 1) __asm__ volatile("" ::: "memory");
    used = bench_clock_time(CLOCK_THREAD_CPUTIME_ID) - begin;
  }
  return used;
}

static int64_t voluntary_switches(int who) {
  struct rusage usage;
  return getrusage(who, &usage) == 0 ? usage.ru_nvcsw : 0;
}

int64_t bench_thread_sleep_count(void) {
  return voluntary_switches(RUSAGE_THREAD);
}

int64_t bench_sleep_count(void) {
  return voluntary_switches(RUSAGE_SELF);
}

size_t bench_bytes_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

int bench_descriptor_count(void) {
  DIR *directory = opendir("/proc/self/fd");
  if (directory == NULL) return -1;
  int count = 0;
  for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    if (entry->d_name[0] != '.') count += 1;
  }
  closedir(directory);
  // The directory's own.
  return count - 1;
}

size_t bench_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  rlim_t enough = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
  if (limit.rlim_cur < enough) {
    limit.rlim_cur = enough;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  }
  return limit.rlim_cur;
}

int bench_eventfd(unsigned initial) {
  return eventfd(initial, EFD_NONBLOCK | EFD_CLOEXEC);
}

bool bench_socket_pair(int *ends) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0;
}

long bench_read(int descriptor, void *bytes, size_t count) {
  return read(descriptor, bytes, count);
}
