#include <echo.h>

#if __has_include(<event2/bufferevent.h>)

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

static void received(struct bufferevent *connection, void *context) {
  (void)context;
  bufferevent_write_buffer(connection, bufferevent_get_input(connection));
}

static void ended(struct bufferevent *connection, short what, void *context) {
  (void)what, (void)context;
  bufferevent_free(connection);
}

static void accepted(evutil_socket_t listener, short what, void *base) {
  (void)listener, (void)what;
  int connection = echo_accept();
  if (connection < 0) return;
  struct bufferevent *buffers = bufferevent_socket_new(base, connection, BEV_OPT_CLOSE_ON_FREE);
  bufferevent_setcb(buffers, received, NULL, ended, NULL);
  bufferevent_enable(buffers, EV_READ | EV_WRITE);
}

int main(void) {
  struct event_base *base = event_base_new();
  struct event *listener = event_new(base, echo_listener, EV_READ | EV_PERSIST, accepted, base);
  event_add(listener, NULL);
  return event_base_dispatch(base);
}

#else

int main(void) {
  return echo_absent;
}

#endif
