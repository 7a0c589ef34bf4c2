#include "foreign.h"

#include <event2/event.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/dns.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct call {
  struct event *event;
  foreign_callback call;
  void *context;
};

static void on_timeout(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  (void)what;
  struct call *call = argument;
  event_free(call->event);
  call->call(call->context);
  free(call);
}

struct call *foreign_timeout(struct event_base *base, int milliseconds, foreign_callback call, void *context) {
  struct call *made = calloc(1, sizeof *made);
  made->call = call;
  made->context = context;
  made->event = evtimer_new(base, on_timeout, made);
  struct timeval delay = {milliseconds / 1000, milliseconds % 1000 * 1000};
  evtimer_add(made->event, &delay);
  return made;
}

void *foreign_cancel(struct call *call) {
  void *context = call->context;
  event_free(call->event);
  free(call);
  return context;
}

static void on_readable(evutil_socket_t descriptor, short what, void *argument) {
  (void)what;
  struct call *call = argument;
  char byte;
  if (read((int)descriptor, &byte, 1) == 1) call->call(call->context);
}

struct call *foreign_reader(struct event_base *base, int descriptor, foreign_callback call, void *context) {
  struct call *made = calloc(1, sizeof *made);
  made->call = call;
  made->context = context;
  made->event = event_new(base, descriptor, EV_READ | EV_PERSIST, on_readable, made);
  event_add(made->event, NULL);
  return made;
}

int foreign_enter(struct event_base *base) { return event_base_loop(base, EVLOOP_NONBLOCK); }

static void on_soon(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  (void)what;
  struct call *call = argument;
  call->call(call->context);
  free(call);
}

void foreign_soon(struct event_base *base, foreign_callback call, void *context) {
  struct call *made = calloc(1, sizeof *made);
  made->call = call;
  made->context = context;
  event_base_once(base, -1, EV_TIMEOUT, on_soon, made, NULL);
}

struct talk {
  struct bufferevent *ends[2];
  int left;
  foreign_callback call;
  void *context;
};

static void on_hung_up(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  (void)what;
  struct talk *talk = argument;
  for (int index = 0; index < 2; index++) bufferevent_free(talk->ends[index]);
  talk->call(talk->context);
  free(talk);
}

static void on_word(struct bufferevent *end, void *argument) {
  struct talk *talk = argument;
  if (talk->left == 0) return;
  if (--talk->left == 0) {
    // Not inside one of those that are to be freed.
    event_base_once(bufferevent_get_base(end), -1, EV_TIMEOUT, on_hung_up, talk, NULL);
  } else {
    bufferevent_write_buffer(end, bufferevent_get_input(end));
  }
}

void foreign_talk(struct event_base *base, int words, foreign_callback call, void *context) {
  struct talk *talk = calloc(1, sizeof *talk);
  talk->left = words;
  talk->call = call;
  talk->context = context;
  bufferevent_pair_new(base, BEV_OPT_DEFER_CALLBACKS, talk->ends);
  for (int index = 0; index < 2; index++) {
    bufferevent_setcb(talk->ends[index], on_word, NULL, NULL, talk);
    bufferevent_enable(talk->ends[index], EV_READ | EV_WRITE);
  }
  bufferevent_write(talk->ends[0], "word", 4);
}

struct exchange {
  struct event_base *base;
  struct evhttp *server;
  struct evhttp_connection *connection;
  int status;
  void (*call)(void *context, int status);
  void *context;
};

static void on_request(struct evhttp_request *request, void *argument) {
  (void)argument;
  struct evbuffer *body = evbuffer_new();
  evbuffer_add_printf(body, "hello\n");
  evhttp_send_reply(request, 200, "OK", body);
  evbuffer_free(body);
}

static void on_over(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  (void)what;
  struct exchange *exchange = argument;
  evhttp_connection_free(exchange->connection);
  evhttp_free(exchange->server);
  exchange->call(exchange->context, exchange->status);
  free(exchange);
}

static void on_answer(struct evhttp_request *request, void *argument) {
  struct exchange *exchange = argument;
  exchange->status = request ? evhttp_request_get_response_code(request) : 0;
  // Not inside the connection that is to be freed.
  struct timeval soon = {0, 1000};
  event_base_once(exchange->base, -1, EV_TIMEOUT, on_over, exchange, &soon);
}

void foreign_http(struct event_base *base, void (*call)(void *context, int status), void *context) {
  struct exchange *exchange = calloc(1, sizeof *exchange);
  exchange->base = base;
  exchange->call = call;
  exchange->context = context;
  exchange->server = evhttp_new(base);
  struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(exchange->server, "127.0.0.1", 0);
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  memset(&address, 0, sizeof address);
  if (bound) getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &size);
  evhttp_set_gencb(exchange->server, on_request, exchange);
  exchange->connection = evhttp_connection_base_new(base, NULL, "127.0.0.1", ntohs(address.sin_port));
  evhttp_connection_set_timeout(exchange->connection, 60);
  struct evhttp_request *request = evhttp_request_new(on_answer, exchange);
  evhttp_add_header(evhttp_request_get_output_headers(request), "Host", "localhost");
  evhttp_make_request(exchange->connection, request, EVHTTP_REQ_GET, "/");
}

struct question {
  struct event_base *base;
  struct evdns_base *resolver;
  unsigned address;
  void (*call)(void *context, unsigned address);
  void *context;
};

static void on_resolver_over(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  (void)what;
  struct question *question = argument;
  evdns_base_free(question->resolver, 0);
  question->call(question->context, question->address);
  free(question);
}

static void on_resolved(int result, char type, int count, int ttl, void *addresses, void *argument) {
  (void)ttl;
  struct question *question = argument;
  if (result == DNS_ERR_NONE && type == DNS_IPv4_A && count == 1) question->address = ntohl(*(unsigned *)addresses);
  // Not inside the resolver that is to be freed.
  event_base_once(question->base, -1, EV_TIMEOUT, on_resolver_over, question, NULL);
}

void foreign_resolve(struct event_base *base, int port, const char *name,
                     void (*call)(void *context, unsigned address), void *context) {
  struct question *question = calloc(1, sizeof *question);
  question->base = base;
  question->call = call;
  question->context = context;
  question->resolver = evdns_base_new(base, 0);
  evdns_base_set_option(question->resolver, "timeout:", "0.05");
  evdns_base_set_option(question->resolver, "attempts:", "100");
  struct sockaddr_in server;
  memset(&server, 0, sizeof server);
  server.sin_family = AF_INET;
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  server.sin_port = htons((unsigned short)port);
  evdns_base_nameserver_sockaddr_add(question->resolver, (struct sockaddr *)&server, sizeof server, 0);
  evdns_base_resolve_ipv4(question->resolver, name, DNS_QUERY_NO_SEARCH, on_resolved, question);
}
