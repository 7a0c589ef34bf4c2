// What the operations of rondo-costs are for a program on libevent or, with -DLIBUV, on libuv. `make counts` compares.
//
//   peers list | peers OPERATION COUNT, a multiple of 1,000
//
// The memory of the timers is the program's, and is set up once.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

// Delays are in microseconds.
#define MILLISECOND 1000L
#define HOUR (3600 * 1000 * MILLISECOND)
#define INTERVAL (200 * MILLISECOND)
// How often a round makes an operation. Timers are as many, and one that is far away.
enum { ROUND = 1000 };

static int calls, last;
static void stop(void);

// What every handler calls.
static void call(void) {
  calls += 1;
  if (calls == last) stop();
}

#ifdef LIBUV

#include <uv.h>

static uv_loop_t loop;
static uv_timer_t timers[ROUND + 1];

static void fired(uv_timer_t *timer) { (void)timer, call(); }
static void readable(uv_poll_t *poll, int status, int events) { (void)poll, (void)status, (void)events, call(); }
static void idled(uv_idle_t *idle) { (void)idle, call(); }

static void begin(void) {
  uv_loop_init(&loop);
  for (int i = 0; i <= ROUND; i += 1) uv_timer_init(&loop, &timers[i]);
}

static void run(void) { uv_run(&loop, UV_RUN_DEFAULT); }
static void look(void) { uv_run(&loop, UV_RUN_NOWAIT); }
static void stop(void) { uv_stop(&loop); }

static void watch(int descriptor) {
  static uv_poll_t poll;
  uv_poll_init(&loop, &poll, descriptor);
  uv_poll_start(&poll, UV_READABLE, readable);
}

static void signal_always(void) {
  static uv_idle_t idle;
  uv_idle_init(&loop, &idle);
  uv_idle_start(&idle, idled);
}

static uint64_t rounded(long delay) { return (delay + MILLISECOND - 1) / MILLISECOND; }
static void set(int timer, long delay) { uv_timer_start(&timers[timer], fired, rounded(delay), 0); }
static void repeat(int timer, long delay) { uv_timer_start(&timers[timer], fired, rounded(delay), rounded(delay)); }
static void cancel(int timer) { uv_timer_stop(&timers[timer]); }

#else

#include <event2/event.h>
#include <event2/event_struct.h>

static struct event_base *base;
static struct event timers[ROUND + 1];

static void called(evutil_socket_t descriptor, short what, void *context) {
  (void)descriptor, (void)what, (void)context, call();
}

static void begin(void) {
  base = event_base_new();
  for (int i = 0; i <= ROUND; i += 1) event_assign(&timers[i], base, -1, 0, called, NULL);
}

static void run(void) { event_base_loop(base, 0); }
static void look(void) { event_base_loop(base, EVLOOP_NONBLOCK); }
static void stop(void) { event_base_loopbreak(base); }
static void watch(int descriptor) { event_add(event_new(base, descriptor, EV_READ | EV_PERSIST, called, NULL), NULL); }

static void set(int timer, long delay) {
  struct timeval time = {delay / (1000 * MILLISECOND), delay % (1000 * MILLISECOND)};
  event_add(&timers[timer], &time);
}

static void repeat(int timer, long delay) {
  event_assign(&timers[timer], base, -1, EV_PERSIST, called, NULL);
  set(timer, delay);
}

static void cancel(int timer) { event_del(&timers[timer]); }

#endif

// MARK: What is done before, and a round of each operation

static void wait_for_descriptor(void) { watch(eventfd(1, EFD_NONBLOCK)); }
static void set_far(void) { set(ROUND, 24 * HOUR); }

// Each timer is later than the one before, as Rondo's are. libevent's clock ticks every 4 ms: without the microseconds,
// some timers, others in each run, would be due at the same time, and cheaper.
static void set_all(long delay) {
  for (int i = 0; i < ROUND; i += 1) set(i, delay + i);
}

static void set_hours(void) {
  set_far();
  set_all(HOUR);
}

static void set_repeating(void) {
  set_far();
  for (int i = 0; i < ROUND; i += 1) repeat(i, INTERVAL + i);
}

// As rondo-costs goes through its timers.
static int shuffled(int index) { return index * 7919 % ROUND; }

static void turns(void) {
  last = calls + ROUND;
  run();
}

static void polls(void) {
  for (int i = 0; i < ROUND; i += 1) look();
}

static void cancels(void) {
  set_all(HOUR);
  for (int i = 0; i < ROUND; i += 1) cancel(shuffled(i));
}

// The dates are in the order of the last round, and this one takes the timers in another.
static void puts_off(void) {
  static int hours = 1, order = 1;
  hours += 1;
  order = shuffled(order);
  for (int i = 0; i < ROUND; i += 1) set(i * order % ROUND, hours * HOUR + i);
}

static void fires(void) {
  set_all(0);
  usleep(10 * MILLISECOND);
  look();
}

static void ticks(void) {
  usleep(INTERVAL + 10 * MILLISECOND);
  look();
}

static const struct operation {
  const char *name;
  void (*prepare)(void), (*perform)(void);
  int calls;
} operations[] = {
  {"poll", set_far, polls, 0},
  {"turn.descriptor", wait_for_descriptor, turns, ROUND},
#ifdef LIBUV
  {"turn.source", signal_always, turns, ROUND},
#endif
  {"timer.cancel", set_far, cancels, 0},
  {"timer.put-off", set_hours, puts_off, 0},
  {"timer.fire", set_far, fires, ROUND},
  {"timer.tick", set_repeating, ticks, ROUND},
  {NULL, NULL, NULL, 0},
};

// Callgrind knows it by its name.
__attribute__((noinline)) void rondo_counted(const struct operation *operation, int rounds) {
  for (int i = 0; i < rounds; i += 1) operation->perform();
}

int main(int argc, char **argv) {
  const struct operation *operation = operations;
  for (; operation->name != NULL; operation += 1) {
    if (argc == 2) puts(operation->name);
    if (argc == 3 && strcmp(operation->name, argv[1]) == 0) break;
  }
  if (operation->name == NULL) return argc != 2;
  int rounds = atoi(argv[2]) / ROUND;
  alarm(300);
  begin();
  operation->prepare();
  // Whatever grows has grown to its size before.
  operation->perform();
  calls = 0;
  rondo_counted(operation, rounds);
  // A machine that stalls between two looks at the clock has a repeating timer fire once more.
  int expected = rounds * operation->calls;
  if (calls == expected || (expected > 0 && calls > expected)) return 0;
  fprintf(stderr, "%d calls\n", calls);
  return 1;
}
