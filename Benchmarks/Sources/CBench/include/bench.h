// What every subject of the benchmarks shares.
//
// Meters are in C, and their hot halves inline, so that a callout does the same work whichever language its loop is
// written in. A peer written in C fills in one `bench_peer`; a peer written in Swift conforms to `Subject`.

#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/// CLOCK_MONOTONIC in nanoseconds.
static inline int64_t bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// MARK: Wakes

/// Measures wakes: the sender stamps, the callout on the woken loop takes the difference.
typedef struct bench_meter {
  int64_t stamp;        // atomic: when the sender began the wake in flight
  size_t received;      // atomic: callouts so far
  size_t surplus;       // atomic: callouts after the last expected one
  size_t expected;      // constant
  int64_t *latencies;   // loop thread, until the loop has returned
} bench_meter;

/// The sender's half, right before it wakes the loop.
static inline void bench_meter_send(bench_meter *meter) {
  __atomic_store_n(&meter->stamp, bench_now(), __ATOMIC_RELEASE);
}

/// The callout's half. True when the last wake has arrived and the loop shall return.
static inline bool bench_meter_hit(bench_meter *meter) {
  int64_t now = bench_now();
  size_t index = __atomic_load_n(&meter->received, __ATOMIC_RELAXED);
  if (index >= meter->expected) {
    __atomic_fetch_add(&meter->surplus, 1, __ATOMIC_RELAXED);
    return true;
  }
  meter->latencies[index] = now - __atomic_load_n(&meter->stamp, __ATOMIC_ACQUIRE);
  __atomic_store_n(&meter->received, index + 1, __ATOMIC_RELEASE);
  return index + 1 == meter->expected;
}

/// Callouts so far, from any thread.
static inline size_t bench_meter_received(const bench_meter *meter) {
  return __atomic_load_n(&meter->received, __ATOMIC_ACQUIRE);
}

/// Callouts nobody sent a wake for.
static inline size_t bench_meter_surplus(const bench_meter *meter) {
  return __atomic_load_n(&meter->surplus, __ATOMIC_ACQUIRE);
}

// MARK: Repeating timers

/// Measures a repeating timer against a grid the harness owns. Loop thread only.
typedef struct bench_ticks {
  int64_t first;       // when grid point 0 is due, CLOCK_MONOTONIC in nanoseconds
  int64_t interval;    // between grid points
  size_t expected;     // grid points in the run
  size_t next;         // the oldest grid point not served yet
  size_t fires;        // callouts so far
  size_t missed;       // grid points that passed without a callout of their own
  size_t early;        // callouts before their grid point: a fault
  int64_t claims[2];   // when the subject itself holds its first and its last callout to be due; 0 when it cannot say
  int64_t *lateness;   // by callout
} bench_ticks;

/// When a grid point is due.
static inline int64_t bench_ticks_due(const bench_ticks *ticks, size_t index) {
  return ticks->first + (int64_t)index * ticks->interval;
}

/// Called first thing in the timer's callout. True when the grid is used up and the loop shall return.
///
/// A callout serves the oldest grid point outstanding; those that have passed besides are counted as missed.
static inline bool bench_ticks_hit(bench_ticks *ticks) {
  int64_t late = bench_now() - bench_ticks_due(ticks, ticks->next);
  size_t passed = late > 0 ? (size_t)(late / ticks->interval) : 0;
  if (late < 0) ticks->early += 1;
  if (ticks->fires < ticks->expected) ticks->lateness[ticks->fires] = late;
  ticks->fires += 1;
  ticks->missed += passed;
  ticks->next += passed + 1;
  return ticks->next >= ticks->expected;
}

/// Whether this callout, already counted, is one to claim: the first or the last.
static inline bool bench_ticks_wants_claim(const bench_ticks *ticks) {
  return ticks->fires == 1 || ticks->next >= ticks->expected;
}

/// The subject's own idea of when this callout was due, so that its schedule can be told from the kernel's noise.
static inline void bench_ticks_claim(bench_ticks *ticks, int64_t due) {
  ticks->claims[ticks->fires == 1 ? 0 : 1] = due;
}

// MARK: Peers written in C

/// A subject written in C: each group of functions is one ability, and a null group is one it does not have.
typedef struct bench_peer {
  const char *name;
  const char *summary;
  /// Why the peer cannot be measured in this build; null when it can.
  const char *absence;

  /// wake.parked: opens a loop on the calling thread; null on failure.
  void *(*wake_open)(bench_meter *meter);
  /// Runs the loop until the meter is full.
  void (*wake_run)(void *loop);
  /// Wakes the loop to its callout, from any thread.
  void (*wake_send)(void *loop);
  void (*wake_close)(void *loop);

  /// timer.lateness: runs a repeating timer on the calling thread until the grid is used up; false on failure.
  bool (*ticks_run)(bench_ticks *ticks);
} bench_peer;

// MARK: Threads and processors

/// The processors this process may run on, lowest first; returns how many there are.
int bench_allowed_processors(int *processors, int capacity);

/// Binds the calling thread to one processor.
bool bench_pin(int processor);

/// Makes every ordinary thread that becomes runnable on its processor preempt the calling thread at once.
/// An unprivileged thread cannot take this back.
bool bench_give_way(void);

/// The kernel's id of the calling thread.
int bench_thread_id(void);

/// Opens what `bench_thread_sleeps` reads; negative on failure.
int bench_thread_watch(int thread);

/// Whether the watched thread is blocked in the kernel, by the kernel's own account.
bool bench_thread_sleeps(int watch);

/// Sleeps for about this many nanoseconds.
void bench_pause(int64_t nanoseconds);

/// The load average of the last minute; negative when unknown.
double bench_load(void);

#endif
