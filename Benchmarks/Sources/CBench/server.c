// Programs that serve a socket, and connections to them.

#define _GNU_SOURCE
#include "clients.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { buffers = 1 << 18, backlog = 4096, most_files = 2 };

static int bound(struct sockaddr_in *address, bool listens) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t length = sizeof *address;
  *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  // What is accepted inherits them: a request of any size fits, and an answer in pieces does not wait for an acknowledgement.
  setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &(int){buffers}, sizeof(int));
  setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &(int){buffers}, sizeof(int));
  // The program binds a socket of its own there, if it is to listen by itself.
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){!listens}, sizeof(int));
  if (listener >= 0 && bind(listener, (struct sockaddr *)address, length) == 0 &&
      (!listens || listen(listener, backlog) == 0) &&
      getsockname(listener, (struct sockaddr *)address, &length) == 0) {
    return listener;
  }
  if (listener >= 0) close(listener);
  return -1;
}

bool bench_server_start(
    bench_server *server, const char *program, int processor, bool listens, const int *files, int count) {
  int descriptors[1 + most_files] = {bound(&server->address, listens)};
  server->process = -1;
  if (descriptors[0] < 0) return false;
  memcpy(descriptors + 1, files, (size_t)count * sizeof *files);
  // The program inherits what the thread is bound to.
  if (bench_pin(processor)) server->process = bench_spawn(program, descriptors, 1 + count);
  close(descriptors[0]);
  return server->process > 0;
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
  int error = errno;
  close(connection);
  errno = error;
  return -1;
}

static bool has_ended(pid_t process) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

int bench_server_connect(const bench_server *server) {
  for (int64_t end = bench_now() + (int64_t)bench_patience * 1000000;; usleep(1000)) {
    int connection = connected(&server->address);
    // Refused: the program has not begun to listen.
    if (connection >= 0 || errno != ECONNREFUSED || bench_now() > end) return connection;
    if (has_ended(server->process)) return -1;
  }
}

int64_t bench_server_memory(const bench_server *server) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/status", (int)server->process);
  FILE *status = fopen(path, "re");
  if (status == NULL) return -1;
  long long kibibytes = -1;
  while (fgets(line, sizeof line, status) != NULL && sscanf(line, "RssAnon: %lld kB", &kibibytes) != 1) {}
  fclose(status);
  return kibibytes < 0 ? -1 : (int64_t)kibibytes * 1024;
}

int bench_server_end(const bench_server *server) {
  kill(server->process, SIGKILL);
  int status = 0;
  if (waitpid(server->process, &status, 0) != server->process) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}
