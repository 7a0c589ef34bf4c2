// What Swift's Glibc module lacks on Linux: eventfd, timerfd, thread identity, and libdispatch's main-queue hooks.
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "simulated.h"

// CLOCK_BOOTTIME, which also counts the time the machine was suspended.
static inline int64_t rondo_boottime_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Has the processor fetch the cache line, which is needed soon. Any address will do.
static inline void rondo_prefetch(const void *_Nullable line) {
  __builtin_prefetch(line);
}

// Tells the processor that this is a spin.
static inline void rondo_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Processors as the kernel counts them (NR_CPUS is at most 8192); the library's cpu_set_t ends at 1024.
struct rondo_processors {
  uint64_t words[128];
};

// The processors that a thread may run on, 0 for the calling one, lowest first, at most `limit` of them. How many there
// are, or minus errno: sched_getaffinity(2).
static inline int rondo_allowed_processors(pid_t thread, int *numbers, int limit) {
  struct rondo_processors mask = {{0}};
  if (syscall(SYS_sched_getaffinity, thread, sizeof mask, &mask) < 0) return -errno;
  int count = 0;
  for (int word = 0; word < 128; word++) {
    for (uint64_t left = mask.words[word]; left; left &= left - 1) {
      if (count < limit) numbers[count] = 64 * word + __builtin_ctzll(left);
      count++;
    }
  }
  return count;
}

// How many processors the calling thread and the first of its process may run on, both together: where one is pinned, the
// others need not be.
static inline int rondo_processors_at_hand(void) {
  struct rondo_processors own = {{0}}, first = {{0}};
  syscall(SYS_sched_getaffinity, 0, sizeof own, &own);
  syscall(SYS_sched_getaffinity, getpid(), sizeof first, &first);
  int count = 0;
  for (int word = 0; word < 128; word++) count += __builtin_popcountll(own.words[word] | first.words[word]);
  return count;
}

// Yields the calling thread's processor: sched_yield(2). False if another thread ran, by the involuntary switches of
// getrusage(2), or if there is one processor alone, which every other thread needs.
static inline bool rondo_processor_is_free(void) {
  // RUSAGE_THREAD, which glibc's header shows only under _GNU_SOURCE.
  enum { thread = 1 };
  struct rusage before, after;
  if (rondo_processors_at_hand() < 2 || getrusage(thread, &before)) return false;
  sched_yield();
  return !getrusage(thread, &after) && after.ru_nivcsw == before.ru_nivcsw;
}

// Has a thread run on these processors only, 0 for the calling one: sched_setaffinity(2). Minus errno for an error.
static inline int rondo_keep_on(pid_t thread, const int *numbers, int count) {
  struct rondo_processors mask = {{0}};
  for (int index = 0; index < count; index++) {
    int number = numbers[index];
    if (number < 0 || number >= 8192) return -EINVAL;
    mask.words[number / 64] |= UINT64_C(1) << number % 64;
  }
  return syscall(SYS_sched_setaffinity, thread, sizeof mask, &mask) < 0 ? -errno : 0;
}

static inline int rondo_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
// One that is readable from the beginning and stays so, for it is never read.
static inline int rondo_readable_eventfd(void) { return eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC); }
static inline int rondo_timerfd(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); }

// Arms for an absolute CLOCK_MONOTONIC time; 0 disarms. timerfd_settime(2) wants a nonzero value to arm. 0, or errno.
static inline int rondo_timerfd_arm(int descriptor, int64_t nanoseconds) {
  struct itimerspec value = {{0, 0}, {nanoseconds / 1000000000, nanoseconds % 1000000000}};
  return timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &value, NULL) ? errno : 0;
}

// Adds one to an eventfd. A full counter is already readable, so EAGAIN needs no answer.
static inline void rondo_eventfd_signal(int descriptor) {
  uint64_t one = 1;
  while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {}
}

static inline void rondo_eventfd_drain(int descriptor) {
  uint64_t count;
  while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {}
}

// Wakes the thread that waits in the epoll set, by EPOLL_CTL_MOD of a file in it that is always readable; 0, or errno.
//
// One system call, like a write to an eventfd and as fast, but the kernel vouches for both numbers: a closed one, or one
// that stands for something else now, is an error, and no stranger gets a byte.
static inline int rondo_wake(int epoll, int descriptor) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.fd = descriptor}};
  return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) ? errno : 0;
}

// Has a wait for the outer epoll set end for the inner one as well; 0, or errno.
static inline int rondo_nest(int outer, int inner) {
  struct epoll_event event = {.events = EPOLLIN, .data = {.fd = inner}};
  return epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event) ? errno : 0;
}

// Whether epoll_ctl(2) refuses this file; asked beforehand where it may, because libevent would log the refusal.
static inline int rondo_is_refused(int descriptor) {
  int probe = epoll_create1(EPOLL_CLOEXEC);
  if (probe < 0) return 0;
  struct epoll_event event = {.events = EPOLLIN};
  int error = epoll_ctl(probe, EPOLL_CTL_ADD, descriptor, &event) ? errno : 0;
  close(probe);
  return error;
}

// Sleeps while the word says `expected`, until another thread wakes it; may return early: futex(2).
static inline void rondo_futex_wait(void *word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}
// The same, for so long at most.
static inline void rondo_futex_wait_for(void *word, uint32_t expected, int64_t nanoseconds) {
  struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &time, NULL, 0);
}
static inline void rondo_futex_wake(void *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

static inline void rondo_futex_wake_all(void *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL, NULL, 0);
}

// A word that a forked child finds zero, however it was made; NULL where the kernel cannot do that: madvise(2).
static inline uint32_t *rondo_word_wiped_on_fork(void) {
  size_t size = (size_t)sysconf(_SC_PAGESIZE);
  void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  if (!madvise(page, size, 18 /* MADV_WIPEONFORK, which needs _DEFAULT_SOURCE */)) return page;
  munmap(page, size);
  return NULL;
}

// Opens /dev/null for those of the descriptors 0, 1 and 2 that are closed: the numbers are not free for other files.
static inline void rondo_fill_standard_descriptors(void) {
  for (int number = 0; number <= 2; number++) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    int made = open("/dev/null", O_RDWR);
    if (made >= 0 && made != number) close(made);
  }
}

// Whether the number stands for an epoll set. Of one, a file that is not in it cannot be removed, for another reason.
static inline bool rondo_is_epoll(int descriptor) {
  int probe = rondo_eventfd();
  bool is_epoll = probe < 0 || (epoll_ctl(descriptor, EPOLL_CTL_DEL, probe, NULL) && errno != EBADF && errno != EINVAL);
  if (probe >= 0) close(probe);
  return is_epoll;
}

// The calling thread's record: a load, where pthread_getspecific(3) is a call. Weak and hidden, so that a program or a
// library has one, in however many of its objects this is.
__attribute__((weak, visibility("hidden"))) _Thread_local void *_Nullable rondo_record_of_thread = NULL;
static inline void *_Nullable rondo_thread_record(void) { return rondo_record_of_thread; }
static inline void rondo_set_thread_record(void *_Nullable record) { rondo_record_of_thread = record; }

// How many locks of ours the calling thread holds. For one file alone: each that calls this has a count of its own.
static inline int *rondo_held_locks(void) {
  static _Thread_local int held;
  return &held;
}

// How many descriptors the process may have: getrlimit(2).
static inline void rondo_descriptor_limits(uint64_t *soft, uint64_t *hard) {
  struct rlimit limit = {0, 0};
  getrlimit(RLIMIT_NOFILE, &limit);
  *soft = limit.rlim_cur;
  *hard = limit.rlim_max;
}

// Puts a fresh eventfd in the place of another descriptor: a forked child's, which it shared with its parent. Readable,
// for what was written into the other one is lost. 0, or errno.
static inline int rondo_renew_eventfd(int descriptor) {
  int fresh = rondo_readable_eventfd();
  if (fresh < 0) return errno;
  int error = fresh == descriptor || syscall(SYS_dup3, fresh, descriptor, O_CLOEXEC) >= 0 ? 0 : errno;
  if (fresh != descriptor) close(fresh);
  return error;
}

// True on the process's first thread.
static inline int rondo_is_main_thread(void) { return syscall(SYS_gettid) == getpid(); }
// Names the calling thread; the kernel keeps 15 bytes: prctl(2).
static inline void rondo_name_thread(const char *name) { prctl(PR_SET_NAME, name); }
// One register; tells threads apart that live at the same time.
static inline uintptr_t rondo_thread_pointer(void) { return (uintptr_t)__builtin_thread_pointer(); }
static inline int rondo_thread_id(void) { return (int)syscall(SYS_gettid); }

// Which file a descriptor stands for; 0, or errno.
struct rondo_identity {
  uint64_t device;
  uint64_t inode;
  uint32_t type;  // S_IFMT bits
};
static inline int rondo_identify(int descriptor, struct rondo_identity *identity) {
  if (rondo_is_simulated(descriptor))
    return (int)-rondo_simulate(RONDO_STATUS, descriptor, (long)identity, 0, 0, 0);
  struct stat status;
  if (fstat(descriptor, &status) != 0) return errno;
  identity->device = status.st_dev;
  identity->inode = status.st_ino;
  identity->type = status.st_mode & S_IFMT;
  return 0;
}

// Whether the peer has hung up, asked of the kernel directly: poll(2).
// Without a retry: on Linux the number is free whatever close(2) says.
static inline void rondo_close(int descriptor) {
  if (rondo_is_simulated(descriptor)) {
    rondo_simulate(RONDO_CLOSE, descriptor, 0, 0, 0, 0);
  } else {
    close(descriptor);
  }
}
static inline int rondo_has_hung_up(int descriptor) {
  struct pollfd query = {descriptor, 0x2000 /* POLLRDHUP, which needs _GNU_SOURCE */, 0};
  if (rondo_is_simulated(descriptor)) return rondo_simulate(RONDO_POLL, descriptor, query.events, 0, 0, 0) > 0;
  return poll(&query, 1, 0) == 1 && (query.revents & (0x2000 | POLLHUP | POLLERR));
}
// Whether reading, or writing, would not block, for whatever reason.
static inline int rondo_is_ready(int descriptor, int writing) {
  struct pollfd query = {descriptor, writing ? POLLOUT : POLLIN, 0};
  if (rondo_is_simulated(descriptor)) return rondo_simulate(RONDO_POLL, descriptor, query.events, 0, 0, 0) > 0;
  return poll(&query, 1, 0) == 1;
}
static inline int rondo_is_readable(int descriptor) {
  struct pollfd query = {descriptor, POLLIN, 0};
  return poll(&query, 1, 0) == 1 && (query.revents & POLLIN);
}

// Whether the number stands for an eventfd; 1 as well if it stands for nothing, or that cannot be found out.
static inline int rondo_may_be_eventfd(int descriptor) {
  char path[32], target[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(path, target, sizeof target);
  return length < 0 || ((size_t)length == strlen("anon_inode:[eventfd]") && !strncmp(target, "anon_inode:[eventfd]", (size_t)length));
}

// libdispatch's doors for a run loop that owns the main thread, as Foundation uses them: a program without libdispatch has
// no main queue to serve. They are looked up in the running program first, for a library with Swift's runtime inside was
// linked without the program's libdispatch. The weak symbols stand for a program that has libdispatch inside itself.
__attribute__((weak)) extern int _dispatch_get_main_queue_handle_4CF(void);
__attribute__((weak)) extern void _dispatch_main_queue_callback_4CF(void *);
// NULL is RTLD_DEFAULT, which needs _GNU_SOURCE.
static inline int rondo_main_queue_handle(void) {
  int (*handle)(void) = (int (*)(void))dlsym(NULL, "_dispatch_get_main_queue_handle_4CF");
  if (!handle) handle = _dispatch_get_main_queue_handle_4CF;
  return handle ? handle() : -1;
}
static inline void rondo_main_queue_drain(void) {
  // The main thread's: looked up once.
  static void (*drain)(void *);
  if (!drain) drain = (void (*)(void *))dlsym(NULL, "_dispatch_main_queue_callback_4CF");
  if (!drain) drain = _dispatch_main_queue_callback_4CF;
  if (drain) drain(0);
}
