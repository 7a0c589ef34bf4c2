// Doors of Foundation's run loop that its headers do not show to Swift, and what it is slept in by. Weak: a program without
// Foundation has none of them, and a later Foundation may not either.
#pragma once

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

__attribute__((weak)) extern void *rondo_cf_loop_of(pthread_t) __asm__("_CFRunLoopGet0b");
__attribute__((weak)) extern unsigned char rondo_cf_is_finished(const void *, const void *) __asm__("_CFRunLoopFinished");
__attribute__((weak)) extern void rondo_cf_stop_mode(const void *, const void *) __asm__("_CFRunLoopStopMode");

// Whether all that the bridge needs is there.
static inline int rondo_has_foundation_doors(void) {
  return rondo_cf_loop_of != 0 && rondo_cf_is_finished != 0 && rondo_cf_stop_mode != 0;
}

// The calling thread's CFRunLoop, if it has one; NULL otherwise, and none is made.
static inline void *_Nullable rondo_foundation_loop(void) { return rondo_cf_loop_of(pthread_self()); }

// Whether none has been made for the calling thread by Rondo: asked once. A thread's keys are destroyed in rounds, in each of
// which a loop of Rondo's may be made again; Foundation cannot make one when its own key has been.
static __thread int rondo_has_made_foundation_loop = 0;
static inline int rondo_makes_first_foundation_loop(void) {
  int is_first = !rondo_has_made_foundation_loop;
  rondo_has_made_foundation_loop = 1;
  return is_first;
}

// Whether the main thread has one. 0 stands for that thread.
static inline int rondo_has_main_foundation_loop(void) { return rondo_cf_loop_of(0) != 0; }

// Whether nothing is in a mode of a CFRunLoop, or there is no such mode.
static inline int rondo_foundation_is_finished(const void *_Nonnull loop, const void *_Nonnull mode) {
  return rondo_cf_is_finished(loop, mode) != 0;
}

// Has the next or present run of a mode of a CFRunLoop end at the end of its turn.
static inline void rondo_foundation_stop_mode(const void *_Nonnull loop, const void *_Nonnull mode) {
  rondo_cf_stop_mode(loop, mode);
}

// An epoll set with a descriptor in it that is always ready, and that descriptor; 0, or errno.
static inline int rondo_ready_epoll(int *_Nonnull epoll, int *_Nonnull inside) {
  *epoll = epoll_create1(EPOLL_CLOEXEC);
  if (*epoll < 0) return errno;
  *inside = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  int error = *inside < 0 || epoll_ctl(*epoll, EPOLL_CTL_ADD, *inside, &event) ? errno : 0;
  if (error) {
    if (*inside >= 0) close(*inside);
    close(*epoll);
  }
  return error;
}

// Sleeps until one of two epoll sets has something, for so many milliseconds at most. Whether the first one has.
static inline int rondo_sleep_for_either(int first, int second, int milliseconds) {
  struct pollfd queries[] = {{first, POLLIN, 0}, {second, POLLIN, 0}};
  poll(queries, 2, milliseconds);
  return queries[0].revents != 0;
}

// Whether half of the descriptors that the process may open are free, if it has taken the lower numbers.
static inline int rondo_has_half_of_descriptors(void) {
  struct rlimit limit;
  int taken = eventfd(0, EFD_CLOEXEC);
  if (taken < 0) return 0;
  close(taken);
  return getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t)taken < limit.rlim_cur / 2;
}

// Whether so many descriptors are left: asked by taking them for a moment.
static inline int rondo_has_descriptors(int count) {
  int taken[16], number = 0;
  while (number < count && number < 16) {
    taken[number] = eventfd(0, EFD_CLOEXEC);
    if (taken[number] < 0) break;
    number += 1;
  }
  for (int index = 0; index < number; index += 1) close(taken[index]);
  return number == count;
}
