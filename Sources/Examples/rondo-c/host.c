// A server that has an epoll loop of its own, with Rondo's loop as its guest: one more descriptor to watch.
//
//   cc host.c $(pkg-config --cflags --libs rondo) -o host && ./host
//
// It prints:
//
//   host: 3 events of its own
//   guest: timer
//   guest: nothing left

#include <errno.h>
#include <rondo.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void on_timer(rondo_timer *timer, const rondo_tick *tick, void *context) {
  (void)timer, (void)tick, (void)context;
  printf("guest: timer\n");
}

static int fail(const char *what, const char *why) {
  fprintf(stderr, "host: %s: %s\n", what, why);
  return 1;
}

int main(void) {
  int host = epoll_create1(EPOLL_CLOEXEC), own = eventfd(3, EFD_CLOEXEC | EFD_SEMAPHORE | EFD_NONBLOCK);
  rondo_loop *loop;
  rondo_timer *timer;
  rondo_embedding *guest;
  // Not the main thread's modes that are common: those serve the main dispatch queue as well, and so are never empty.
  const char *mode = "guest";
  if (host < 0 || own < 0) return fail("no descriptors", strerror(errno));
  int error = rondo_loop_current(&loop);
  if (error < 0) return fail("no loop", rondo_error_text(error));
  rondo_timer_new(&timer, rondo_now() + RONDO_SECOND / 10, 0, 0, on_timer, NULL, NULL);
  rondo_loop_add(loop, timer, mode);
  rondo_release(timer);
  error = rondo_embedding_new(&guest, loop, mode);
  if (error < 0) return fail("no guest", rondo_error_text(error));

  struct epoll_event event = {.events = EPOLLIN, .data = {.fd = rondo_embedding_descriptor(guest)}};
  if (epoll_ctl(host, EPOLL_CTL_ADD, event.data.fd, &event) != 0) return fail("epoll_ctl", strerror(errno));
  event.data.fd = own;
  if (epoll_ctl(host, EPOLL_CTL_ADD, own, &event) != 0) return fail("epoll_ctl", strerror(errno));

  int events = 0, is_over = 0;
  while (!is_over || events < 3) {
    struct epoll_event ready;
    if (epoll_wait(host, &ready, 1, -1) != 1) continue;
    if (ready.data.fd == own) {
      uint64_t one;
      if (read(own, &one, sizeof one) == sizeof one && ++events == 3) printf("host: 3 events of its own\n");
    } else {
      is_over = rondo_embedding_turn(guest) == RONDO_FINISHED;
    }
  }
  printf("guest: nothing left\n");
  rondo_release(guest);
  close(own);
  close(host);
  return 0;
}
