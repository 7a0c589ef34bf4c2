// A timer on the main thread's loop: the smallest program there is.
//
//   make install PREFIX=/usr/local
//   cc tick.c $(pkg-config --cflags --libs rondo) -o tick && ./tick
//
// It prints, in a third of a second:
//
//   tick
//   tick
//   tick
//   stopped

#include <rondo.h>
#include <stdio.h>

static void tick(rondo_timer *timer, const rondo_tick *tick, void *loop) {
  static int ticks;
  (void)timer, (void)tick;
  printf("tick\n");
  ticks += 1;
  if (ticks == 3) rondo_loop_stop(loop);
}

int main(void) {
  rondo_loop *loop;
  rondo_timer *timer;
  int error = rondo_loop_current(&loop);
  if (error < 0) {
    fprintf(stderr, "no loop: %s\n", rondo_error_text(error));
    return 1;
  }
  rondo_timer_new(&timer, rondo_now() + RONDO_SECOND / 10, RONDO_SECOND / 10, 0, tick, loop, NULL);
  rondo_loop_add(loop, timer, NULL);
  rondo_release(timer);
  int result = rondo_loop_run(loop, NULL, RONDO_FOREVER, 0);
  printf("%s\n", result == RONDO_STOPPED ? "stopped" : "something else");
  return 0;
}
