#include "trace.h"

#include <stdlib.h>

struct slot {
  struct rondo_event event;
  uint32_t is_full;
};

struct rondo_trace {
  uint64_t next;
  uint32_t limit;
  uint32_t is_closed;
  struct slot slots[];
};

struct rondo_trace *rondo_trace_make(uint32_t limit) {
  struct rondo_trace *trace = calloc(1, sizeof *trace + limit * sizeof(struct slot));
  if (!trace) return NULL;
  trace->limit = limit;
  trace->is_closed = 1;
  return trace;
}

void rondo_trace_open(struct rondo_trace *trace) {
  for (uint32_t place = 0; place < trace->limit; place++) {
    __atomic_store_n(&trace->slots[place].is_full, 0, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&trace->next, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&trace->is_closed, 0, __ATOMIC_RELEASE);
}

void rondo_trace_add(struct rondo_trace *trace, const struct rondo_event *event) {
  if (__atomic_load_n(&trace->is_closed, __ATOMIC_RELAXED)) return;
  uint64_t place = __atomic_fetch_add(&trace->next, 1, __ATOMIC_RELAXED);
  if (place >= trace->limit) return;
  trace->slots[place].event = *event;
  __atomic_store_n(&trace->slots[place].is_full, 1, __ATOMIC_RELEASE);
}

uint32_t rondo_trace_close(struct rondo_trace *trace, struct rondo_event *events) {
  __atomic_store_n(&trace->is_closed, 1, __ATOMIC_RELAXED);
  uint64_t used = __atomic_load_n(&trace->next, __ATOMIC_RELAXED);
  if (used > trace->limit) used = trace->limit;
  uint32_t count = 0;
  for (uint64_t place = 0; place < used; place++) {
    if (!__atomic_load_n(&trace->slots[place].is_full, __ATOMIC_ACQUIRE)) continue;
    events[count++] = trace->slots[place].event;
  }
  return count;
}

uint64_t rondo_trace_lost(const struct rondo_trace *trace) {
  uint64_t used = __atomic_load_n(&trace->next, __ATOMIC_RELAXED);
  return used > trace->limit ? used - trace->limit : 0;
}
