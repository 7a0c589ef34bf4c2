// An HTTP server of libevent's.

#include "guests.h"

#if __has_include(<event2/http.h>)

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct guest_http {
  struct event_base *base;
  struct evhttp *http;
};

static void reply(struct evhttp_request *request, long count) {
  struct evbuffer *body = evbuffer_new();
  char piece[4096];
  memset(piece, 'r', sizeof piece);
  for (long left = count; left > 0; left -= (long)sizeof piece) {
    evbuffer_add(body, piece, left < (long)sizeof piece ? (size_t)left : sizeof piece);
  }
  evhttp_send_reply(request, 200, "OK", body);
  evbuffer_free(body);
}

static void on_late(evutil_socket_t descriptor, short what, void *request) {
  (void)descriptor;
  (void)what;
  reply(request, 4);
}

static void on_request(struct evhttp_request *request, void *argument) {
  struct guest_http *server = argument;
  const char *path = evhttp_request_get_uri(request);
  if (strcmp(path, "/slow") != 0) return reply(request, atol(path + 1));
  struct timeval delay = {0, 20000};
  event_base_once(server->base, -1, EV_TIMEOUT, on_late, request, &delay);
}

struct guest_http *guest_http_new(struct event_base *base, int *port) {
  struct guest_http *server = calloc(1, sizeof *server);
  server->base = base;
  server->http = evhttp_new(base);
  evhttp_set_gencb(server->http, on_request, server);
  struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(server->http, "127.0.0.1", 0);
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  if (!bound || getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &size)) abort();
  *port = ntohs(address.sin_port);
  return server;
}

void guest_http_free(struct guest_http *server) {
  evhttp_free(server->http);
  free(server);
}

#endif
