#include <start.h>

#if __has_include(<event2/event.h>)

#include <event2/event.h>

static void called(evutil_socket_t descriptor, short what, void *context) {
  (void)descriptor, (void)what, (void)context;
  start_reached();
}

int main(void) {
  struct event_base *base = event_base_new();
  struct timeval now = {0, 0};
  event_add(evtimer_new(base, called, NULL), &now);
  return event_base_dispatch(base);
}

#else

int main(void) {
  return start_absent;
}

#endif
