#include "records.h"

#include "../CLinux/clock.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A debugger begins here.
__attribute__((visibility("default"), used)) struct rondo_loop_record *rondo_loop_records;

#define LOAD RONDO_LOAD
#define STORE RONDO_STORE

struct rondo_loop_record *rondo_record_make(void) {
  struct rondo_loop_record *record = calloc(1, sizeof *record + rondo_turn_count * sizeof record->ring[0]);
  if (!record) return NULL;
  memcpy(record->magic, "rondo 4", 8);
  record->next = rondo_loop_records;
  rondo_loop_records = record;
  return record;
}

void rondo_record_free(struct rondo_loop_record *record) {
  struct rondo_loop_record **place = &rondo_loop_records;
  while (*place && *place != record) place = &(*place)->next;
  if (*place) *place = record->next;
  free(record);
}

void rondo_record_name(struct rondo_loop_record *record, const char *name, int32_t thread) {
  strncpy(record->name, name, sizeof record->name - 1);
  record->thread = thread;
}

static void copy_out(struct rondo_callout *to, const struct rondo_callout *from) {
  to->label = LOAD(from->label);
  to->item = LOAD(from->item);
  to->detail = LOAD(from->detail);
  to->kind = LOAD(from->kind);
}

int rondo_record_set_listener(struct rondo_loop_record *record, uint32_t listener, int is_on) {
  uint32_t before = is_on ? __atomic_fetch_or(&record->listeners, listener, __ATOMIC_SEQ_CST)
                          : __atomic_fetch_and(&record->listeners, ~listener, __ATOMIC_SEQ_CST);
  return !(before & listener) == !!is_on;
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

void rondo_record_watch_end(struct rondo_loop_record *record, uint64_t beat) {
  STORE(record->watched, beat);
  rondo_record_set_listener(record, rondo_listener_end, 1);
}

void rondo_record_note_end(struct rondo_loop_record *record) {
  uint64_t beat = LOAD(record->beat) - 1;
  if (LOAD(record->watched) != beat) return;
  STORE(record->ended_at, rondo_monotonic_now());
  __atomic_store_n(&record->ended_beat, beat, __ATOMIC_RELEASE);
}

int64_t rondo_record_ended(struct rondo_loop_record *record, uint64_t beat) {
  if (LOAD(record->watched) == beat) rondo_record_set_listener(record, rondo_listener_end, 0);
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

int rondo_record_turns(const struct rondo_loop_record *record, struct rondo_turn *turns) {
  uint64_t last = __atomic_load_n(&record->turns, __ATOMIC_ACQUIRE);
  uint64_t first = last > rondo_turn_count ? last - rondo_turn_count : 0;
  for (uint64_t index = first; index < last; index++) {
    copy_turn(&turns[index - first], &record->ring[index % rondo_turn_count]);
  }
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  // A place that the loop has written over during the copy mixes two turns.
  uint64_t now = LOAD(record->turns);
  uint64_t oldest = now >= rondo_turn_count ? now - rondo_turn_count + 1 : 0;
  uint64_t skipped = oldest > first ? oldest - first : 0;
  if (skipped > last - first) skipped = last - first;
  memmove(turns, turns + skipped, (last - first - skipped) * sizeof *turns);
  return (int)(last - first - skipped);
}
