// The callouts: the same compiled functions for every subject.

#include "bench.h"

#include <unistd.h>

void bench_meter_called(void *opaque) {
  bench_meter *meter = opaque;
  int64_t now = bench_now();
  size_t index = __atomic_load_n(&meter->received, __ATOMIC_RELAXED);
  if (index >= meter->expected) {
    __atomic_fetch_add(&meter->surplus, 1, __ATOMIC_RELAXED);
    return;
  }
  meter->latencies[index] = now - __atomic_load_n(&meter->stamp, __ATOMIC_ACQUIRE);
  __atomic_store_n(&meter->received, index + 1, __ATOMIC_RELEASE);
  if (index + 1 == meter->expected) bench_stop(&meter->stopper);
}

static size_t count_of(const bench_threads *threads, uintptr_t thread) {
  for (int index = 0; index < 8; index += 1) {
    if (threads->threads[index] == thread) return threads->counts[index];
  }
  return 0;
}

size_t bench_threads_shared(const bench_threads *one, const bench_threads *other) {
  size_t shared = 0;
  for (int index = 0; index < 8 && one->threads[index] != 0; index += 1) {
    size_t others = count_of(other, one->threads[index]);
    shared += others < one->counts[index] ? others : one->counts[index];
  }
  return shared;
}

size_t bench_threads_number(const bench_threads *one, const bench_threads *other) {
  size_t number = 0;
  for (int index = 0; index < 8; index += 1) {
    if (one->threads[index] != 0) number += 1;
    if (other->threads[index] != 0 && count_of(one, other->threads[index]) == 0) number += 1;
  }
  return number;
}

void bench_paddle_called(void *opaque) {
  bench_paddle *paddle = opaque;
  bench_threads_count(&paddle->threads);
  paddle->calls += 1;
  bool is_last = paddle->calls == paddle->target;
  if (!is_last || paddle->answers_last) paddle->send(paddle->wake);
  if (is_last) bench_stop(&paddle->stopper);
}

void bench_counter_called(void *opaque) {
  bench_counter *counter = opaque;
  counter->calls += 1;
  if (counter->calls == counter->target) bench_stop(&counter->stopper);
}

void bench_poster_called(void *opaque) {
  bench_poster *poster = opaque;
  poster->calls += 1;
  if (poster->calls == poster->target) {
    bench_stop(&poster->stopper);
  } else if (poster->calls == poster->posted) {
    poster->posted += poster->batch;
    poster->post(poster->stopper.loop, poster->batch, bench_poster_called, poster);
  }
}

void bench_window_called(void *opaque) {
  bench_window *window = opaque;
  if (window->end != 0) return;
  int64_t now = bench_now();
  int64_t late = now - (window->origin + (int64_t)window->calls * window->step);
  window->calls += 1;
  int64_t sleeps = bench_sleep_count();
  bool has_slept = sleeps != window->sleeps;
  window->sleeps = sleeps;
  int64_t edge = window->begin == 0 ? window->opens : window->begin + window->length;
  if (now >= edge && (has_slept || now >= edge + window->patience)) {
    if (window->begin != 0) {
      window->end = now;
      window->last_sleeps = sleeps;
      window->last_cpu = bench_cpu_time();
      bench_stop(&window->stopper);
      return;
    }
    window->begin = now;
    window->first_sleeps = sleeps;
    window->first_cpu = bench_cpu_time();
  }
  if (window->begin == 0) return;
  if (window->fires < window->capacity) window->lateness[window->fires] = late;
  window->fires += 1;
}

static bool write_byte(const bench_ring *ring, size_t index) {
  return write(ring->descriptors[2 * index + 1], "e", 1) == 1;
}

void bench_ring_called(void *opaque) {
  bench_ring_end *end = opaque;
  bench_ring *ring = end->ring;
  char byte;
  if (read(ring->descriptors[2 * end->index], &byte, 1) != 1) {
    ring->faults += 1;
    return;
  }
  if (ring->writes > 0) {
    ring->writes -= 1;
    size_t next = end->index + 1;
    if (!write_byte(ring, next < ring->pairs ? next : 0)) ring->faults += 1;
  }
  ring->calls += 1;
  if (ring->calls == ring->target) bench_stop(&ring->stopper);
}

bool bench_ring_begin(bench_ring *ring, size_t active, size_t events) {
  ring->calls = 0;
  ring->target = events;
  ring->writes = events - active;
  for (size_t i = 0; i < active; i += 1) {
    if (!write_byte(ring, i * (ring->pairs / active))) return false;
  }
  return true;
}
