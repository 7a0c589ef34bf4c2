#include "records.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A probe for bpftrace, perf and gdb, with two arguments: an instruction that does nothing, and a note that says where it is.
//
// The note is that of <sys/sdt.h>, in the form that systemtap's wiki describes under "user space probe implementation".
#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__))
#define PROBE(name, first, second) \
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
#define PROBE(name, first, second) ((void)0)
#endif

// Every field that two threads use is read and written by a relaxed atomic access; `beat` orders them.
struct rondo_loop_record {
  char magic[8];
  struct rondo_loop_record *next;
  char name[64];
  int32_t thread;
  uint32_t depth;
  uint64_t beat;
  uint64_t watched;  // the beat whose end is wanted
  uint64_t ended_beat;
  int64_t ended_at;
  struct rondo_callout callouts[rondo_callout_depth];
  uint64_t turns;  // how many have been written
  struct rondo_turn ring[rondo_turn_count];
};

// A script for debuggers knows where everything is: rondo-gdb.py.
_Static_assert(offsetof(struct rondo_loop_record, callouts) == 120, "The head of a record has its size.");
_Static_assert(sizeof(struct rondo_callout) == 40, "A callout has its size.");
_Static_assert(sizeof(struct rondo_turn) == 56, "A turn has its size.");

// A debugger begins here.
__attribute__((visibility("default"), used)) struct rondo_loop_record *rondo_loop_records;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

struct rondo_loop_record *rondo_record_make(void) {
  struct rondo_loop_record *record = calloc(1, sizeof *record);
  if (!record) return NULL;
  memcpy(record->magic, "rondo 1", 8);
  pthread_mutex_lock(&list_lock);
  record->next = rondo_loop_records;
  rondo_loop_records = record;
  pthread_mutex_unlock(&list_lock);
  return record;
}

void rondo_record_free(struct rondo_loop_record *record) {
  pthread_mutex_lock(&list_lock);
  struct rondo_loop_record **place = &rondo_loop_records;
  while (*place && *place != record) place = &(*place)->next;
  if (*place) *place = record->next;
  pthread_mutex_unlock(&list_lock);
  free(record);
}

void rondo_record_name(struct rondo_loop_record *record, const char *name, int32_t thread) {
  pthread_mutex_lock(&list_lock);
  strncpy(record->name, name, sizeof record->name - 1);
  record->thread = thread;
  pthread_mutex_unlock(&list_lock);
}

static void copy_in(struct rondo_callout *to, const struct rondo_callout *from) {
  STORE(to->label, from->label);
  STORE(to->item, from->item);
  STORE(to->detail, from->detail);
  STORE(to->began, from->began);
  STORE(to->kind, from->kind);
}

static void copy_out(struct rondo_callout *to, const struct rondo_callout *from) {
  to->label = LOAD(from->label);
  to->item = LOAD(from->item);
  to->detail = LOAD(from->detail);
  to->began = LOAD(from->began);
  to->kind = LOAD(from->kind);
}

void rondo_record_begin(struct rondo_loop_record *record, const struct rondo_callout *callout) {
  uint32_t depth = LOAD(record->depth);
  // Of deeper nesting only the depth is known.
  if (depth < rondo_callout_depth) copy_in(&record->callouts[depth], callout);
  PROBE("callout__begin", callout->label, callout->kind);
  STORE(record->depth, depth + 1);
  __atomic_store_n(&record->beat, LOAD(record->beat) + 1, __ATOMIC_RELEASE);
}

struct rondo_callout rondo_record_end(struct rondo_loop_record *record) {
  struct rondo_callout ended = {.kind = UINT64_MAX};
  uint32_t depth = LOAD(record->depth);
  // The record came in the middle of a callout.
  if (depth == 0) return ended;
  if (depth <= rondo_callout_depth) copy_out(&ended, &record->callouts[depth - 1]);
  uint64_t beat = LOAD(record->beat);
  if (LOAD(record->watched) == beat) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    STORE(record->ended_at, (int64_t)time.tv_sec * 1000000000 + time.tv_nsec);
    __atomic_store_n(&record->ended_beat, beat, __ATOMIC_RELEASE);
  }
  PROBE("callout__end", ended.label, ended.kind);
  STORE(record->depth, depth - 1);
  __atomic_store_n(&record->beat, beat + 1, __ATOMIC_RELEASE);
  // The next beginning writes over what has ended, and must not be seen before this.
  __atomic_thread_fence(__ATOMIC_RELEASE);
  return ended;
}

uint32_t rondo_record_depth(const struct rondo_loop_record *record) { return LOAD(record->depth); }

void rondo_record_relabel(struct rondo_loop_record *record, uint64_t label) {
  uint32_t depth = LOAD(record->depth);
  if (depth > 0 && depth <= rondo_callout_depth) STORE(record->callouts[depth - 1].label, label);
}

uint64_t rondo_record_beat(const struct rondo_loop_record *record) {
  return __atomic_load_n(&record->beat, __ATOMIC_ACQUIRE);
}

int rondo_record_callouts(const struct rondo_loop_record *record, struct rondo_callout *callouts, uint64_t *beat) {
  for (int attempt = 0; attempt < 100; attempt++) {
    *beat = __atomic_load_n(&record->beat, __ATOMIC_ACQUIRE);
    uint32_t depth = LOAD(record->depth);
    uint32_t count = depth < rondo_callout_depth ? depth : rondo_callout_depth;
    for (uint32_t index = 0; index < count; index++) copy_out(&callouts[index], &record->callouts[index]);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (LOAD(record->beat) == *beat) return (int)count;
  }
  return -1;
}

void rondo_record_watch_end(struct rondo_loop_record *record, uint64_t beat) { STORE(record->watched, beat); }

int64_t rondo_record_ended(const struct rondo_loop_record *record, uint64_t beat) {
  return __atomic_load_n(&record->ended_beat, __ATOMIC_ACQUIRE) == beat ? LOAD(record->ended_at) : 0;
}

static void copy_turn(struct rondo_turn *to, const struct rondo_turn *from) {
  STORE(to->number, LOAD(from->number));
  STORE(to->woke, LOAD(from->woke));
  STORE(to->asleep, LOAD(from->asleep));
  STORE(to->label, LOAD(from->label));
  STORE(to->item, LOAD(from->item));
  STORE(to->detail, LOAD(from->detail));
  STORE(to->callouts, LOAD(from->callouts));
  STORE(to->reason, LOAD(from->reason));
  STORE(to->kind, LOAD(from->kind));
}

void rondo_record_turn(struct rondo_loop_record *record, const struct rondo_turn *turn) {
  PROBE("turn", turn->number, turn->reason);
  uint64_t count = LOAD(record->turns);
  copy_turn(&record->ring[count % rondo_turn_count], turn);
  __atomic_store_n(&record->turns, count + 1, __ATOMIC_RELEASE);
}

void rondo_record_amend(struct rondo_loop_record *record, const struct rondo_turn *turn) {
  uint64_t count = LOAD(record->turns);
  if (count > 0) copy_turn(&record->ring[(count - 1) % rondo_turn_count], turn);
}

int rondo_record_turns(const struct rondo_loop_record *record, struct rondo_turn *turns) {
  uint64_t last = __atomic_load_n(&record->turns, __ATOMIC_ACQUIRE);
  uint64_t first = last > rondo_turn_count ? last - rondo_turn_count : 0;
  for (uint64_t index = first; index < last; index++) {
    copy_turn(&turns[index - first], &record->ring[index % rondo_turn_count]);
  }
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  // What the loop has written over meanwhile is two turns at once.
  uint64_t now = LOAD(record->turns);
  uint64_t oldest = now >= rondo_turn_count ? now - rondo_turn_count + 1 : 0;
  uint64_t skipped = oldest > first ? oldest - first : 0;
  if (skipped > last - first) skipped = last - first;
  memmove(turns, turns + skipped, (last - first - skipped) * sizeof *turns);
  return (int)(last - first - skipped);
}
