#include "stuck.h"

static volatile uint64_t sink;

__attribute__((noinline)) static uint64_t spin(uint64_t seed, const uint32_t *word) {
  uint64_t a = seed, b = 3, c = 5, d = 7, e = 11, f = 13;
  while (!__atomic_load_n(word, __ATOMIC_RELAXED)) {
    a = a * 6364136223846793005u + b;
    b ^= a >> 7;
    c += b * d;
    d = (d << 13) ^ c;
    e += a ^ d;
    f -= e;
  }
  return a + b + c + d + e + f;
}

void stuck_compute(const uint32_t *word) { sink = spin(17, word) + 1; }

void stuck_end(uint32_t *word) { __atomic_store_n(word, 1, __ATOMIC_RELAXED); }

void stuck_call(void (*body)(void *), void *context) {
  uint64_t before = sink;
  body(context);
  sink = before + 1;
}
