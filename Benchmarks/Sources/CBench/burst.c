// The sender of the workload `udp.burst`.

#define _GNU_SOURCE
#include "bench.h"
#include "burst.h"

#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// How long the receiver may take to start, and to receive what waits when all is sent.
enum { patience = 10000000, rest = 50000 };

static int bound(struct sockaddr_in *address) {
  int receiver = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t length = sizeof *address;
  *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (receiver >= 0 && bind(receiver, (struct sockaddr *)address, length) == 0 &&
      getsockname(receiver, (struct sockaddr *)address, &length) == 0) {
    return receiver;
  }
  if (receiver >= 0) close(receiver);
  return -1;
}

static int64_t received(const burst_page *page) {
  return __atomic_load_n(&page->received, __ATOMIC_RELAXED);
}

// Sends until the first one is received: the program has started.
static bool greet(int sender, const burst_page *page, const char *bytes, size_t count) {
  for (int64_t end = bench_now() + (int64_t)patience * 1000; received(page) == 0;) {
    if (bench_now() > end) return false;
    send(sender, bytes, count, MSG_NOSIGNAL);
    usleep(10000);
  }
  usleep(rest);
  return true;
}

int bench_burst_run(const char *program, bench_burst *burst) {
  struct sockaddr_in address;
  char bytes[burst_room];
  memset(bytes, burst_byte, sizeof bytes);
  int memory = memfd_create("burst", MFD_CLOEXEC), receiver = bound(&address);
  int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (memory < 0 || receiver < 0 || sender < 0 || burst->bytes > sizeof bytes) return -1;
  if (ftruncate(memory, sizeof(burst_page)) != 0) return -1;
  burst_page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (page == MAP_FAILED || connect(sender, (struct sockaddr *)&address, sizeof address) != 0) return -1;
  page->work = burst->work;
  // The receiver inherits what the thread is bound to.
  if (!bench_pin(burst->receiver)) return -1;
  pid_t child = bench_spawn(program, (int[]){receiver, memory}, 2);
  close(receiver);
  close(memory);
  clockid_t clock;
  bool is_good = bench_pin(burst->sender) && child >= 0 && clock_getcpuclockid(child, &clock) == 0 &&
                 greet(sender, page, bytes, burst->bytes);
  if (is_good) {
    int64_t before = received(page), used = bench_clock_time(clock), begin = bench_now();
    for (int64_t sent = 0; sent < burst->datagrams; sent++) {
      int64_t due = begin + burst->nanoseconds * sent / burst->datagrams;
      while (bench_now() < due) {}
      send(sender, bytes, burst->bytes, MSG_NOSIGNAL);
    }
    burst->elapsed = bench_now() - begin;
    usleep(rest);
    burst->received = received(page) - before;
    burst->processor = bench_clock_time(clock) - used;
    is_good = burst->received > 0 && burst->received <= burst->datagrams && page->faults == 0;
  }
  close(sender);
  munmap(page, sizeof *page);
  if (child < 0) return -1;
  kill(child, SIGKILL);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  return is_good ? 0 : -2;
}
