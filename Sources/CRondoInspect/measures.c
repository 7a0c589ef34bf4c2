#include "measures.h"

#include <stdlib.h>
#include <string.h>

#include "records.h"

enum { steps = 32, step_bits = 5, slot_count = 1024, note_count = 4096 };

struct histogram {
  uint64_t sum, longest;
  uint64_t buckets[rondo_histogram_buckets];
};

struct place {
  struct rondo_place what;
  uint32_t chosen;  // in which round
  uint32_t wanted;  // the same if it is wanted
  struct histogram ready, run;
};

struct note {
  uint64_t key;
  int64_t time;
};

// A callout under way; no place if it is not counted.
struct entry {
  struct place *place;
  int64_t began;
};

struct rondo_measures {
  struct place *slots[slot_count];      // by hash; the loop's thread
  struct place *places[rondo_place_limit + 1];  // in order of appearance; the last is for the rest
  uint32_t count;
  uint32_t round;
  struct entry under_way[rondo_callout_depth];
  struct note notes[note_count];
};

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define ADD(field, amount) STORE(field, LOAD(field) + (amount))

struct rondo_measures *rondo_measures_make(void) { return calloc(1, sizeof(struct rondo_measures)); }

void rondo_measures_free(struct rondo_measures *measures) {
  for (uint32_t index = 0; index <= rondo_place_limit; index++) free(measures->places[index]);
  free(measures);
}

uint32_t rondo_histogram_bucket(uint64_t value) {
  if (value < 2 * steps) return (uint32_t)value;
  uint32_t shift = 63 - (uint32_t)__builtin_clzll(value) - step_bits;
  uint32_t bucket = steps * shift + (uint32_t)(value >> shift);
  return bucket < rondo_histogram_buckets ? bucket : rondo_histogram_buckets - 1;
}

uint64_t rondo_histogram_value(uint32_t bucket) {
  if (bucket < 2 * steps) return bucket;
  uint32_t shift = bucket / steps - 1;
  return ((uint64_t)(bucket - steps * shift + 1) << shift) - 1;
}

static void add(struct histogram *histogram, uint64_t value) {
  ADD(histogram->buckets[rondo_histogram_bucket(value)], 1);
  ADD(histogram->sum, value);
  if (value > LOAD(histogram->longest)) STORE(histogram->longest, value);
}

static struct place *append(struct rondo_measures *measures, uint32_t index, uint64_t label, uint64_t kind) {
  struct place *place = calloc(1, sizeof *place);
  if (!place) return NULL;
  place->what.label = label;
  place->what.kind = (uint8_t)kind;
  __atomic_store_n(&measures->places[index], place, __ATOMIC_RELEASE);
  return place;
}

static struct place **slot_of(struct rondo_measures *measures, uint64_t label, uint64_t kind, uint32_t probe) {
  uint64_t hash = (label ^ kind << 56) * UINT64_C(0x9E3779B97F4A7C15) >> 54;
  return &measures->slots[(hash + probe) % slot_count];
}

static int is_at(const struct place *place, uint64_t label, uint64_t kind) {
  return place && place->what.label == label && place->what.kind == kind;
}

static struct place *find(struct rondo_measures *measures, uint64_t label, uint64_t kind) {
  for (uint32_t probe = 0; probe < slot_count; probe++) {
    struct place **slot = slot_of(measures, label, kind, probe);
    if (!*slot) {
      if (measures->count == rondo_place_limit) break;
      *slot = append(measures, measures->count, label, kind);
      if (*slot) __atomic_store_n(&measures->count, measures->count + 1, __ATOMIC_RELEASE);
      return *slot;
    }
    if (is_at(*slot, label, kind)) return *slot;
  }
  struct place *rest = measures->places[rondo_place_limit];
  return rest ? rest : append(measures, rondo_place_limit, 0, 255);
}

// The callout is of a place; of none if there is no memory.
static inline int begin_at(
    struct rondo_measures *measures, struct place *place, uint32_t depth, int64_t time, int64_t due) {
  measures->under_way[depth] = (struct entry){place, time};
  if (!place) return 0;
  uint32_t round = LOAD(measures->round) + 1;
  if (place->wanted != round) {
    // Nothing is counted before the place was chosen.
    if (place->chosen != round) return 1;
    measures->under_way[depth].place = NULL;
    return 0;
  }
  if (due > 0) add(&place->ready, time > due ? (uint64_t)(time - due) : 0);
  ADD(place->what.callouts, 1);
  return 0;
}

// Where the first slot has another place, or none.
__attribute__((noinline)) static int begin_elsewhere(
    struct rondo_measures *measures, uint32_t depth, uint64_t label, uint64_t kind, int64_t time, int64_t due) {
  return begin_at(measures, find(measures, label, kind), depth, time, due);
}

int rondo_measures_begin(
    struct rondo_measures *measures, uint32_t depth, uint64_t label, uint64_t kind, int64_t time, int64_t due) {
  if (depth >= rondo_callout_depth) return 0;
  struct place *place = *slot_of(measures, label, kind, 0);
  if (!is_at(place, label, kind)) return begin_elsewhere(measures, depth, label, kind, time, due);
  return begin_at(measures, place, depth, time, due);
}

// The place of the callout that began last, if it is counted.
static struct place *place_of(const struct rondo_measures *measures, uint32_t depth) {
  return depth < rondo_callout_depth ? measures->under_way[depth].place : NULL;
}

void rondo_measures_choose(struct rondo_measures *measures, uint32_t depth, int is_wanted) {
  struct place *place = place_of(measures, depth);
  if (!place) return;
  place->chosen = LOAD(measures->round) + 1;
  place->wanted = is_wanted ? place->chosen : 0;
}

void rondo_measures_add(struct rondo_measures *measures, uint32_t depth, uint32_t wakeups, uint32_t missed) {
  struct place *place = place_of(measures, depth);
  if (!place) return;
  ADD(place->what.wakeups, wakeups);
  ADD(place->what.missed, missed);
}

void rondo_measures_skip(struct rondo_measures *measures, uint32_t depth) {
  if (depth < rondo_callout_depth) measures->under_way[depth].place = NULL;
}

void rondo_measures_end(struct rondo_measures *measures, uint32_t depth, int64_t time) {
  struct place *place = place_of(measures, depth);
  if (!place) return;
  int64_t run = time - measures->under_way[depth].began;
  add(&place->run, run > 0 ? (uint64_t)run : 0);
  measures->under_way[depth].place = NULL;
}

void rondo_measures_choose_anew(struct rondo_measures *measures) {
  __atomic_fetch_add(&measures->round, 1, __ATOMIC_RELAXED);
}

static struct note *note(struct rondo_measures *measures, uint64_t key) {
  return &measures->notes[(key * UINT64_C(0x9E3779B97F4A7C15) >> 40) % note_count];
}

void rondo_measures_note(struct rondo_measures *measures, uint64_t key, int64_t time) {
  struct note *place = note(measures, key);
  // A reader in between finds key 0, which stands for nothing.
  STORE(place->key, 0);
  __atomic_store_n(&place->time, time, __ATOMIC_RELEASE);
  __atomic_store_n(&place->key, key, __ATOMIC_RELEASE);
}

int64_t rondo_measures_noted(struct rondo_measures *measures, uint64_t key) {
  struct note *place = note(measures, key);
  if (__atomic_load_n(&place->key, __ATOMIC_ACQUIRE) != key) return 0;
  int64_t time = __atomic_load_n(&place->time, __ATOMIC_ACQUIRE);
  return LOAD(place->key) == key ? time : 0;
}

static void copy(const struct histogram *from, struct rondo_histogram *to) {
  to->count = 0;
  to->sum = LOAD(from->sum);
  to->longest = LOAD(from->longest);
  for (uint32_t index = 0; index < rondo_histogram_buckets; index++) {
    to->count += to->buckets[index] = LOAD(from->buckets[index]);
  }
}

int rondo_measures_read(
    const struct rondo_measures *measures, uint32_t index, struct rondo_place *place, struct rondo_histogram *ready,
    struct rondo_histogram *run) {
  uint32_t count = __atomic_load_n(&measures->count, __ATOMIC_ACQUIRE);
  if (index > count) return 0;
  const struct place *found = __atomic_load_n(&measures->places[index < count ? index : rondo_place_limit], __ATOMIC_ACQUIRE);
  if (!found) return 0;
  place->label = found->what.label;
  place->kind = found->what.kind;
  place->callouts = LOAD(found->what.callouts);
  place->wakeups = LOAD(found->what.wakeups);
  place->missed = LOAD(found->what.missed);
  if (ready) copy(&found->ready, ready);
  if (run) copy(&found->run, run);
  return 1;
}
