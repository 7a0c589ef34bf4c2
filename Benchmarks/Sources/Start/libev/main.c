#include <start.h>

#if __has_include(<ev.h>) && defined(RONDO_BENCH_LIBEV)

#include <ev.h>

static void called(struct ev_loop *loop, ev_timer *timer, int events) {
  (void)loop, (void)timer, (void)events;
  start_reached();
}

int main(void) {
  struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
  ev_timer timer;
  ev_timer_init(&timer, called, 0., 0.);
  ev_timer_start(loop, &timer);
  return ev_run(loop, 0);
}

#else

int main(void) {
  return start_absent;
}

#endif
