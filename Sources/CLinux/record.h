// What an inspected loop does at present and has done last, in plain memory: the loop's thread writes, other threads read
// while it runs or is stuck, a debugger and a core file by the symbol `rondo_loop_records`.
//
// The writing is here, to be inlined into a turn; what makes, lists and reads records is CRondoInspect's.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A callout under way.
struct rondo_callout {
  uint64_t label;   // 48 bits of address, 16 of line: 0 for a name, 0xFFFF for code
  uint64_t item;    // tells items of a moment apart; 0 for what has none
  int64_t detail;   // a descriptor, an observer's activities, a signal's ticket, a timer's interval
  uint64_t kind;    // observer, timer, timeout, source, descriptor, block, main queue, job
};

// A turn in which something was done, or that slept.
struct rondo_turn {
  uint64_t number;    // of all the loop's turns so far
  int64_t woke;       // CLOCK_MONOTONIC in nanoseconds, if it slept
  int64_t asleep;     // nanoseconds; -1 if it did not sleep
  uint64_t label;     // of its first callout
  uint64_t item;
  int64_t detail;
  uint32_t callouts;
  uint8_t reason;     // descriptor, main queue, post, timer, end of the run's time; 255 if it did not sleep
  uint8_t kind;       // of its first callout; 255 if there was none
};

enum { rondo_callout_depth = 16, rondo_turn_count = 1024 };

// The listeners to a loop beside its record, in bits.
enum rondo_listener {
  rondo_listener_turns = 1,
  rondo_listener_measures = 2,
  rondo_listener_trace = 4,
  rondo_listener_parked = 8,  // a watcher sleeps because the loop does, and wants to be called
  rondo_listener_end = 16,    // a watcher wants to know when a callout ends
};

// Every field that two threads use is read and written by a relaxed atomic access; `beat` orders them.
struct rondo_loop_record {
  char magic[8];
  struct rondo_loop_record *_Nullable next;
  char name[64];
  int32_t thread;
  uint32_t depth;
  uint64_t beat;     // beginnings and ends
  uint64_t watched;  // the beat whose end is wanted
  uint64_t ended_beat;
  int64_t ended_at;
  uint32_t listeners;
  uint32_t reserved;
  // The addresses of the loop's tables of timers and of other items, for debuggers; 0 when the loop is gone.
  uint64_t timers;
  uint64_t items;
  struct rondo_callout callouts[rondo_callout_depth];
  uint64_t turns;  // how many have been written
  struct rondo_turn ring[];  // rondo_turn_count of them
};

// A script for debuggers knows where everything is: rondo-gdb.py.
_Static_assert(offsetof(struct rondo_loop_record, callouts) == 144, "The head of a record has its size.");
_Static_assert(sizeof(struct rondo_callout) == 32, "A callout has its size.");
_Static_assert(sizeof(struct rondo_turn) == 56, "A turn has its size.");

#define RONDO_LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define RONDO_STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

// A probe for bpftrace, perf and gdb, with two arguments: an instruction that does nothing, and a note that says where it is.
//
// The note is that of <sys/sdt.h>, in the form that systemtap's wiki describes under "user space probe implementation".
#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__))
#define RONDO_PROBE(name, first, second) \
  __asm__ volatile( \
      "990: nop\n" \
      ".pushsection .note.stapsdt,\"\",\"note\"\n" \
      ".balign 4\n" \
      ".4byte 992f-991f, 994f-993f, 3\n" \
      "991: .asciz \"stapsdt\"\n" \
      "992: .balign 4\n" \
      "993: .8byte 990b\n" \
      ".8byte _.stapsdt.base\n" \
      ".8byte 0\n" \
      ".asciz \"rondo\"\n" \
      ".asciz \"" name "\"\n" \
      ".asciz \"8@%0 8@%1\"\n" \
      "994: .balign 4\n" \
      ".popsection\n" \
      ".ifndef _.stapsdt.base\n" \
      ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
      ".weak _.stapsdt.base\n" \
      ".hidden _.stapsdt.base\n" \
      "_.stapsdt.base: .space 1\n" \
      ".size _.stapsdt.base, 1\n" \
      ".popsection\n" \
      ".endif\n" \
      : \
      : "r"((uint64_t)(first)), "r"((uint64_t)(second)))
#else
#define RONDO_PROBE(name, first, second) ((void)0)
#endif

// The loop's thread. A callout is about to begin. Returns the listeners, in bits of `rondo_listener`.
static inline uint32_t rondo_record_begin(
    struct rondo_loop_record *_Nonnull record, uint64_t label, uint64_t kind, uint64_t item, int64_t detail) {
  uint32_t depth = RONDO_LOAD(record->depth);
  // Of deeper nesting only the depth is known.
  if (depth < rondo_callout_depth) {
    struct rondo_callout *callout = &record->callouts[depth];
    RONDO_STORE(callout->label, label);
    RONDO_STORE(callout->kind, kind);
    RONDO_STORE(callout->item, item);
    RONDO_STORE(callout->detail, detail);
  }
  RONDO_PROBE("callout__begin", label, kind);
  RONDO_STORE(record->depth, depth + 1);
  __atomic_store_n(&record->beat, RONDO_LOAD(record->beat) + 1, __ATOMIC_RELEASE);
  return RONDO_LOAD(record->listeners);
}

// The loop's thread. The callout that began last is over. Returns the listeners.
static inline uint32_t rondo_record_end(struct rondo_loop_record *_Nonnull record) {
  uint32_t depth = RONDO_LOAD(record->depth);
  RONDO_PROBE("callout__end", record, depth);
  RONDO_STORE(record->depth, depth - 1);
  __atomic_store_n(&record->beat, RONDO_LOAD(record->beat) + 1, __ATOMIC_RELEASE);
  // The next beginning writes over what has ended, and must not be seen before this.
  __atomic_thread_fence(__ATOMIC_RELEASE);
  return RONDO_LOAD(record->listeners);
}

// Any thread. Returns the listeners.
static inline uint32_t rondo_record_listeners(const struct rondo_loop_record *_Nonnull record) {
  return RONDO_LOAD(record->listeners);
}
