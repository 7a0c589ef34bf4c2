// A call blocks its loop until a monitor reports it, on the library's thread. On a terminal, the stack is shown as well.
//
//   cc stall.c $(pkg-config --cflags --libs rondo) -o stall && ./stall
//
// It prints:
//
//   stuck in timer wait_for_a_byte
//   free again

#include <rondo.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];

static void wait_for_a_byte(rondo_timer *timer, const rondo_tick *tick, void *context) {
  (void)timer, (void)tick, (void)context;
  char byte;
  while (read(ends[0], &byte, 1) < 0) {
  }
}

static void report(rondo_stall_monitor *monitor, const rondo_stall *stall, void *loop) {
  (void)monitor;
  if (stall->has_ended) {
    printf("free again\n");
    rondo_loop_request_stop(loop);
    return;
  }
  printf("stuck in %s\n", stall->callout);
  if (isatty(STDERR_FILENO)) fprintf(stderr, "%s\n%s", stall->text, stall->stack);
  if (write(ends[1], "", 1) != 1) perror("write");
}

int main(void) {
  rondo_loop *loop;
  rondo_timer *timer;
  rondo_stall_monitor *monitor;
  int error = rondo_loop_current(&loop);
  if (error < 0 || pipe(ends) != 0) {
    fprintf(stderr, "no loop: %s\n", rondo_error_text(error));
    return 1;
  }
  rondo_stall_monitor_new(&monitor, RONDO_SECOND / 4, report, loop, NULL);
  rondo_stall_monitor_watch(monitor, loop);
  // Its next date, in an hour, keeps the run until it is stopped.
  rondo_timer_new(&timer, rondo_now(), 3600 * RONDO_SECOND, 0, wait_for_a_byte, NULL, NULL);
  rondo_loop_add(loop, timer, NULL);
  rondo_release(timer);
  rondo_loop_run(loop, NULL, RONDO_FOREVER, 0);
  rondo_release(monitor);
  return 0;
}
