// The clients of the workloads that have a server: so many connections, each with one request under way.

#define _GNU_SOURCE
#include "clients.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { room = 1 << 16, most_times = 1 << 23, most_response = 2048 };

// A connection's request under way.
typedef struct client {
  int descriptor;
  // Whether the request waits for the session's handshake.
  bool is_shaking;
  // NULL without TLS.
  void *session;
  size_t received;
  int64_t begin;
  // The room for an HTTP response; NULL if the request comes back.
  char *response;
} client;

// What they share.
typedef struct run {
  bench_clients *figures;
  bench_server server;
  bench_authority authority;
  const char *request, *body;
  size_t bytes;
  int epoll;
  client *clients;
} run;

static bool ask(client *client, const run *run) {
  client->received = 0;
  ssize_t count = client->session ? bench_session_send(client->session, run->request, run->bytes)
                                  : send(client->descriptor, run->request, run->bytes, MSG_NOSIGNAL);
  return count == (ssize_t)run->bytes;
}

// Takes what has come: 1 if the answer is whole, 0 if more is to come, -1 if it is wrong or the server has gone.
static int take(client *client, const run *run) {
  static char echo[room];
  char *answer = client->response ? client->response + client->received : echo;
  size_t size = client->response ? most_response - client->received : room;
  ssize_t count = client->session ? bench_session_receive(client->session, answer, size)
                                  : recv(client->descriptor, answer, size, 0);
  if (count < 0 && errno == EAGAIN) return 0;
  if (count <= 0) return -1;
  client->received += (size_t)count;
  if (client->response) return bench_response_state(client->response, client->received, run->body);
  if (client->received > run->bytes) return -1;
  if (memcmp(answer, run->request + client->received - count, (size_t)count) != 0) return -1;
  return client->received == run->bytes;
}

// Goes on after what has come: as `take`, which a handshake comes before.
static int advance(client *client, const run *run) {
  if (!client->is_shaking) return take(client, run);
  int state = bench_session_shake(client->session, &run->authority);
  if (state != 1) return state;
  client->is_shaking = false;
  return ask(client, run) ? 0 : -1;
}

// Connects and asks, after the handshake if there is one.
static bool join(client *client, const run *run) {
  client->begin = bench_now();
  client->descriptor = bench_server_connect(&run->server);
  if (client->descriptor < 0) return false;
  if (!run->figures->are_secure) return ask(client, run);
  client->session = bench_session_open(&run->authority, client->descriptor);
  client->is_shaking = true;
  return client->session != NULL && advance(client, run) == 0;
}

static void leave(client *client) {
  bench_session_close(client->session);
  client->session = NULL;
  if (client->descriptor >= 0) close(client->descriptor);
  client->descriptor = -1;
}

static bool watch(client *client, const run *run, uint32_t events) {
  struct epoll_event event = {.events = events, .data = {.ptr = client}};
  return epoll_ctl(run->epoll, EPOLL_CTL_ADD, client->descriptor, &event) == 0;
}

// A connection with one request and its answer, with nothing else under way.
static bool greet(client *client, const run *run) {
  if (!join(client, run)) return false;
  struct pollfd readable = {.fd = client->descriptor, .events = POLLIN};
  int state = 0;
  while (state == 0 && poll(&readable, 1, bench_patience) == 1) state = advance(client, run);
  return state == 1;
}

// The next request, on the same connection or on a new one.
static bool again(client *client, const run *run) {
  if (run->figures->are_new) {
    leave(client);
    return join(client, run) && watch(client, run, EPOLLIN);
  }
  client->begin = bench_now();
  return ask(client, run);
}

// Sends and takes what is possible at once; false if the server has gone.
static bool flood(const client *client, uint32_t events) {
  static char bytes[room];
  ssize_t count = 1;
  if (events & EPOLLIN) count = recv(client->descriptor, bytes, room, 0);
  if (count == 0 || (count < 0 && errno != EAGAIN)) return false;
  count = send(client->descriptor, bytes, room, MSG_NOSIGNAL);
  return count > 0 || errno == EAGAIN;
}

// Makes all connections, one after the other, and says what they took of the server's memory.
static bool gather(run *run) {
  bench_clients *figures = run->figures;
  int all = figures->connections + figures->floods;
  int64_t memory = -1;
  for (int made = 0; made < all; made++) {
    client *client = &run->clients[made];
    uint32_t events = made < figures->connections ? EPOLLIN : EPOLLIN | EPOLLOUT;
    if (!greet(client, run) || !watch(client, run, events)) return false;
    // What the first connection takes is the server's own: its code's pages, its buffers.
    if (made == 0) memory = bench_server_memory(&run->server);
  }
  figures->memory = all > 1 ? (double)(bench_server_memory(&run->server) - memory) / (all - 1) : 0;
  return true;
}

// Has all clients ask and ask again: first for `warmup`, then for `nanoseconds`, which count.
static bool converse(const run *run, clockid_t clock, int64_t *times) {
  bench_clients *figures = run->figures;
  bool is_good = true;
  for (int index = 0; index < figures->connections && is_good; index++) is_good = again(&run->clients[index], run);
  int64_t begin = bench_now() + figures->warmup, used = 0;
  bool counts = false;
  while (is_good) {
    struct epoll_event events[256];
    int count = epoll_wait(run->epoll, events, 256, bench_patience);
    int64_t now = bench_now();
    if (count <= 0) is_good = false;
    if (!counts && now >= begin) {
      counts = true;
      begin = now;
      used = bench_clock_time(clock);
    } else if (counts && now - begin >= figures->nanoseconds) {
      figures->elapsed = now - begin;
      figures->processor = bench_clock_time(clock) - used;
      break;
    }
    for (int index = 0; index < count && is_good; index++) {
      client *client = events[index].data.ptr;
      if (client >= run->clients + figures->connections) {
        is_good = flood(client, events[index].events);
        continue;
      }
      int state = advance(client, run);
      if (state < 0) is_good = false;
      if (state <= 0) continue;
      if (counts && figures->requests < most_times) times[figures->requests++] = bench_now() - client->begin;
      is_good = again(client, run);
    }
  }
  return is_good;
}

static int compare(const void *left, const void *right) {
  int64_t difference = *(const int64_t *)left - *(const int64_t *)right;
  return difference < 0 ? -1 : difference > 0;
}

static int64_t percentile(const int64_t *times, int64_t count, double percent) {
  return count > 0 ? times[(int64_t)((double)(count - 1) * percent / 100)] : 0;
}

// The clients' half of a run, when the server has been started.
static bool measure(run *run) {
  bench_clients *figures = run->figures;
  int all = figures->connections + figures->floods;
  run->epoll = epoll_create1(EPOLL_CLOEXEC);
  run->clients = calloc((size_t)all, sizeof *run->clients);
  char *responses = run->body ? malloc((size_t)all * most_response) : NULL;
  for (int index = 0; index < all; index++) {
    run->clients[index].descriptor = -1;
    run->clients[index].response = responses ? responses + (size_t)index * most_response : NULL;
  }
  int64_t *times = malloc(sizeof *times * most_times);
  clockid_t clock;
  figures->requests = 0;
  bool is_good = clock_getcpuclockid(run->server.process, &clock) == 0 && gather(run) && converse(run, clock, times);
  qsort(times, (size_t)figures->requests, sizeof *times, compare);
  figures->p50 = percentile(times, figures->requests, 50);
  figures->p99 = percentile(times, figures->requests, 99);
  figures->p999 = percentile(times, figures->requests, 99.9);
  figures->worst = percentile(times, figures->requests, 100);
  for (int index = 0; index < all; index++) leave(&run->clients[index]);
  close(run->epoll);
  free(times);
  free(responses);
  free(run->clients);
  return is_good && figures->requests > 0;
}

int bench_clients_run(const char *program, const char *request, const char *body, bench_clients *figures) {
  run run = {.figures = figures, .request = request, .body = body, .authority = {.files = {-1, -1}}};
  bool is_secure = figures->are_secure;
  run.bytes = request ? strlen(request) : figures->bytes;
  char *bytes = malloc(run.bytes);
  for (size_t index = 0; index < run.bytes; index++) bytes[index] = (char)(index * 31 + 7);
  if (request == NULL) run.request = bytes;
  bool is_ready = !is_secure || bench_authority_make(&run.authority);
  int result = -1;
  if (is_ready && bench_server_start(
                      &run.server, program, figures->server, request == NULL, run.authority.files, is_secure ? 2 : 0)) {
    // A session's writes do not know MSG_NOSIGNAL. After the start, for the program would inherit it.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (is_secure) pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    bool is_good = bench_pin(figures->client) && measure(&run);
    result = bench_server_end(&run.server);
    if (result == 0 && !is_good) result = -2;
  }
  bench_authority_free(&run.authority);
  free(bytes);
  return result;
}
