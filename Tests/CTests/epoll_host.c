// A raw epoll loop as a host: what a server of one's own has.

#include "probe.h"

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

int host_epoll(int descriptor, host_turn turn, host_turn tick, void *context) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  struct itimerspec interval = {{0, 10000000}, {0, 10000000}};
  struct itimerspec never = {{0, 0}, {0, 0}};
  timerfd_settime(timer, 0, &interval, NULL);
  struct epoll_event guest = {.events = EPOLLIN, .data = {.fd = descriptor}};
  struct epoll_event own = {.events = EPOLLIN, .data = {.fd = timer}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &guest);
  epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &own);
  int is_over = 0;
  while (!is_over) {
    struct epoll_event ready[2];
    int count = epoll_wait(epoll, ready, 2, -1);
    for (int index = 0; index < count; index++) {
      if (ready[index].data.fd == descriptor) {
        is_over = turn(context);
      } else {
        uint64_t ticks;
        (void)!read(timer, &ticks, sizeof ticks);
        if (tick(context)) timerfd_settime(timer, 0, &never, NULL);
      }
    }
  }
  close(timer);
  close(epoll);
  return 0;
}
