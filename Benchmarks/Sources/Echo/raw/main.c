#include <echo.h>
#include <sys/epoll.h>

static char room[echo_room];

int main(void) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data = {.fd = echo_listener}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, echo_listener, &event);
  for (;;) {
    struct epoll_event events[256];
    int count = epoll_wait(epoll, events, 256, -1);
    for (int index = 0; index < count; index++) {
      int ready = events[index].data.fd;
      if (ready == echo_listener) {
        event.data.fd = echo_accept();
        if (event.data.fd >= 0) epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
      } else if (!echo_serve(ready, room)) {
        close(ready);
      }
    }
  }
}
