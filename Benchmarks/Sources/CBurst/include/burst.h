// The programs of the workload `udp.burst`: each receives from the bound socket that it finds at its start, on one loop,
// until it is killed.

#ifndef BURST_H
#define BURST_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum {
  /// Is bound already, and never blocks.
  burst_socket = 3,
  /// Shared with the sender: a `burst_page`.
  burst_memory = 4,
  /// More than a datagram has.
  burst_room = 2048,
  /// What every byte of a datagram is.
  burst_byte = 0x55,
  /// The exit status of a program that was built without its library.
  burst_absent = 3
};

/// What the receiver tells the sender.
typedef struct burst_page {
  int64_t received;  // atomic
  int64_t faults;    // datagrams of other bytes
  int64_t work;      // constant: nanoseconds to compute for each datagram
} burst_page;

/// The shared page. Once, at the start.
static inline burst_page *burst_open(void) {
  void *page = mmap(NULL, sizeof(burst_page), PROT_READ | PROT_WRITE, MAP_SHARED, burst_memory, 0);
  if (page == MAP_FAILED) exit(1);
  return (burst_page *)page;
}

/// A datagram was received: counts it, and computes.
static inline void burst_took(burst_page *page, const void *bytes, size_t count) {
  const unsigned char *all = (const unsigned char *)bytes;
  if (count == 0 || all[0] != burst_byte || all[count - 1] != burst_byte) page->faults += 1;
  __atomic_store_n(&page->received, page->received + 1, __ATOMIC_RELAXED);
  if (page->work == 0) return;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t end = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + page->work;
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec < end);
}

#endif
