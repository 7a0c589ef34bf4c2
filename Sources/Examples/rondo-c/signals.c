// SIGTERM as an event of the loop: the signal is blocked, and a signalfd(2) is watched.
//
//   cc signals.c $(pkg-config --cflags --libs rondo) -pthread -o signals && ./signals
//
// It sends itself the signal. It prints:
//
//   waiting
//   signal 15: stopping

#include <errno.h>
#include <rondo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void on_signal(rondo_descriptor *source, int descriptor, unsigned readiness, void *loop) {
  struct signalfd_siginfo info;
  (void)source, (void)readiness;
  if (read(descriptor, &info, sizeof info) != sizeof info) return;
  printf("signal %u: stopping\n", (unsigned)info.ssi_signo);
  rondo_loop_stop(loop);
}

static void on_timer(rondo_timer *timer, const rondo_tick *tick, void *context) {
  (void)timer, (void)tick, (void)context;
  printf("waiting\n");
  kill(getpid(), SIGTERM);
}

static int fail(const char *what, const char *why) {
  fprintf(stderr, "signals: %s: %s\n", what, why);
  return 1;
}

int main(void) {
  rondo_loop *loop;
  rondo_descriptor *signals;
  rondo_timer *timer;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  // Before the first thread: every thread inherits the mask.
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  int descriptor = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor < 0) return fail("signalfd", strerror(errno));
  int error = rondo_loop_current(&loop);
  if (error < 0) return fail("no loop", rondo_error_text(error));
  rondo_descriptor_new(&signals, descriptor, RONDO_READ, RONDO_CLOSE, 0, on_signal, loop, NULL);
  rondo_loop_add(loop, signals, NULL);
  rondo_timer_new(&timer, rondo_now(), 0, 0, on_timer, NULL, NULL);
  rondo_loop_add(loop, timer, NULL);
  rondo_release(timer);
  int result = rondo_loop_run(loop, NULL, RONDO_FOREVER, 0);
  rondo_item_invalidate(signals);
  rondo_release(signals);
  return result == RONDO_STOPPED ? 0 : 1;
}
