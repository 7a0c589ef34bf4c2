// The clients of the workload `echo`: so many connections, each with one request under way.

#define _GNU_SOURCE
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

enum { room = 1 << 16, buffers = 1 << 18, most_times = 1 << 23, patience = 10000 };

// A connection's request under way.
typedef struct client {
  int descriptor;
  size_t received;
  int64_t begin;
} client;

static int listening(struct sockaddr_in *address) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t length = sizeof *address;
  *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  // What is accepted inherits them: a request of any size fits, and an answer in pieces does not wait for an acknowledgement.
  setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &(int){buffers}, sizeof(int));
  setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &(int){buffers}, sizeof(int));
  if (listener >= 0 && bind(listener, (struct sockaddr *)address, length) == 0 && listen(listener, 4096) == 0 &&
      getsockname(listener, (struct sockaddr *)address, &length) == 0) {
    return listener;
  }
  if (listener >= 0) close(listener);
  return -1;
}

static int connected(const struct sockaddr_in *address) {
  int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  setsockopt(connection, SOL_SOCKET, SO_SNDBUF, &(int){buffers}, sizeof(int));
  setsockopt(connection, SOL_SOCKET, SO_RCVBUF, &(int){buffers}, sizeof(int));
  if (connect(connection, (const struct sockaddr *)address, sizeof *address) == 0 &&
      fcntl(connection, F_SETFL, O_NONBLOCK) == 0) {
    return connection;
  }
  close(connection);
  return -1;
}

static bool ask(client *client, const char *request, size_t bytes) {
  client->received = 0;
  client->begin = bench_now();
  return send(client->descriptor, request, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

// Takes what has come: 1 if the answer is whole, 0 if more is to come, -1 if it is wrong or the server has gone.
static int take(client *client, const char *request, size_t bytes) {
  static char answer[room];
  ssize_t count = recv(client->descriptor, answer, room, 0);
  if (count < 0 && errno == EAGAIN) return 0;
  if (count <= 0 || client->received + (size_t)count > bytes) return -1;
  if (memcmp(answer, request + client->received, (size_t)count) != 0) return -1;
  client->received += (size_t)count;
  return client->received == bytes;
}

// One request and its answer, with nothing else under way.
static bool greet(client *client, const char *request, size_t bytes) {
  if (!ask(client, request, bytes)) return false;
  struct pollfd readable = {.fd = client->descriptor, .events = POLLIN};
  int state = 0;
  while (state == 0 && poll(&readable, 1, patience) == 1) state = take(client, request, bytes);
  return state == 1;
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

// The memory of its own that a process has now, in bytes; what it maps from files does not count.
static int64_t memory_of(pid_t process) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/status", (int)process);
  FILE *status = fopen(path, "re");
  if (status == NULL) return -1;
  long long kibibytes = -1;
  while (fgets(line, sizeof line, status) != NULL && sscanf(line, "RssAnon: %lld kB", &kibibytes) != 1) {}
  fclose(status);
  return kibibytes < 0 ? -1 : (int64_t)kibibytes * 1024;
}

static int compare(const void *left, const void *right) {
  int64_t difference = *(const int64_t *)left - *(const int64_t *)right;
  return difference < 0 ? -1 : difference > 0;
}

// Has all clients ask and ask again: first for `warmup`, then for `nanoseconds`, which count.
static bool converse(
    int epoll, client *clients, bench_echo *echo, clockid_t clock, const char *request, int64_t *times) {
  bool is_good = true;
  for (int index = 0; index < echo->connections; index++) is_good &= ask(&clients[index], request, echo->bytes);
  int64_t begin = bench_now() + echo->warmup, used = 0;
  bool counts = false;
  while (is_good) {
    struct epoll_event events[256];
    int count = epoll_wait(epoll, events, 256, patience);
    int64_t now = bench_now();
    if (count <= 0) is_good = false;
    if (!counts && now >= begin) {
      counts = true;
      begin = now;
      used = bench_clock_time(clock);
    } else if (counts && now - begin >= echo->nanoseconds) {
      echo->elapsed = now - begin;
      echo->processor = bench_clock_time(clock) - used;
      break;
    }
    for (int index = 0; index < count && is_good; index++) {
      client *client = events[index].data.ptr;
      if (client >= clients + echo->connections) {
        is_good = flood(client, events[index].events);
        continue;
      }
      int state = take(client, request, echo->bytes);
      if (state < 0) is_good = false;
      if (state <= 0) continue;
      if (counts && echo->requests < most_times) times[echo->requests++] = bench_now() - client->begin;
      is_good = ask(client, request, echo->bytes);
    }
  }
  return is_good;
}

static int64_t percentile(const int64_t *times, int64_t count, double percent) {
  return count > 0 ? times[(int64_t)((double)(count - 1) * percent / 100)] : 0;
}

int bench_echo_run(const char *program, bench_echo *echo) {
  struct sockaddr_in address;
  int listener = listening(&address);
  if (listener < 0) return -1;
  // The server inherits what the thread is bound to.
  if (!bench_pin(echo->server)) return -1;
  pid_t child = bench_spawn(program, &listener, 1);
  close(listener);
  if (!bench_pin(echo->client) || child < 0) return -1;
  int epoll = epoll_create1(EPOLL_CLOEXEC), made = 0;
  int all = echo->connections + echo->floods;
  client *clients = calloc((size_t)all, sizeof *clients);
  int64_t *times = malloc(sizeof *times * most_times);
  char *request = malloc(echo->bytes);
  for (size_t index = 0; index < echo->bytes; index++) request[index] = (char)(index * 31 + 7);
  clockid_t clock;
  bool is_good = clock_getcpuclockid(child, &clock) == 0;
  // What the first connection takes is the server's own: its code's pages, its buffers.
  int64_t memory = -1;
  for (; made < all && is_good; made++) {
    clients[made].descriptor = connected(&address);
    uint32_t events = made < echo->connections ? EPOLLIN : EPOLLIN | EPOLLOUT;
    struct epoll_event event = {.events = events, .data = {.ptr = &clients[made]}};
    is_good = clients[made].descriptor >= 0 && greet(&clients[made], request, echo->bytes) &&
              epoll_ctl(epoll, EPOLL_CTL_ADD, clients[made].descriptor, &event) == 0;
    if (made == 0) memory = memory_of(child);
  }
  echo->memory = made > 1 ? (double)(memory_of(child) - memory) / (made - 1) : 0;
  echo->requests = 0;
  is_good = is_good && converse(epoll, clients, echo, clock, request, times);
  qsort(times, (size_t)echo->requests, sizeof *times, compare);
  echo->p50 = percentile(times, echo->requests, 50);
  echo->p99 = percentile(times, echo->requests, 99);
  echo->p999 = percentile(times, echo->requests, 99.9);
  echo->worst = percentile(times, echo->requests, 100);
  for (int index = 0; index < made; index++) {
    if (clients[index].descriptor >= 0) close(clients[index].descriptor);
  }
  close(epoll);
  free(request);
  free(clients);
  free(times);
  kill(child, SIGKILL);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  return is_good && echo->requests > 0 ? 0 : -2;
}
