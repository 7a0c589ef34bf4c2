#define _GNU_SOURCE

#include "service.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../CLinux/simulated.h"

extern char **environ;

int rondo_send_descriptor(int socket, const void *bytes, size_t count, int descriptor) {
  if (rondo_is_simulated(socket)) return -EOPNOTSUPP;
  char room[CMSG_SPACE(sizeof descriptor)] __attribute__((aligned(__alignof__(struct cmsghdr)))) = {0};
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  ssize_t result;
  do {
    result = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (result < 0 && errno == EINTR);
  return result < 0 ? -errno : (int)result;
}

enum { FIRST = 3, VARIABLES = 4, DIGITS = 10 };

// The file of a program: its own name if that has a slash, or what PATH has first. Freed by the caller.
static char *program_file(const char *executable) {
  if (strchr(executable, '/')) return strdup(executable);
  const char *path = getenv("PATH");
  if (!path) path = "/bin:/usr/bin";
  while (1) {
    int length = (int)strcspn(path, ":");
    char *name = NULL;
    if (asprintf(&name, "%.*s%s%s", length, path, length ? "/" : "", executable) < 0) return NULL;
    if (!access(name, X_OK)) return name;
    free(name);
    if (!path[length]) break;
    path += length + 1;
  }
  errno = ENOENT;
  return NULL;
}

// What was meant for this process, and is another thing for its successor, or nothing.
static int is_replaced(const char *variable) {
  static const char *const names[] = {"LISTEN_PID=",     "LISTEN_FDS=",   "LISTEN_FDNAMES=",
                                      "LISTEN_PIDFDID=", "WATCHDOG_PID=", "RONDO_PREDECESSOR="};
  for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
    if (!strncmp(variable, names[index], strlen(names[index]))) return 1;
  }
  return 0;
}

static void free_environment(char **environment) {
  for (int index = 0; index < VARIABLES; index++) free(environment[index]);
  free(environment);
}

// Its first variables are made here, LISTEN_PID with blanks for the number that only the successor knows.
static char **successor_environment(const struct rondo_successor *successor) {
  size_t count = 0;
  while (environ && environ[count]) count++;
  char **made = calloc(VARIABLES + count + 1, sizeof *made);
  if (!made) return NULL;
  int is_made = asprintf(&made[0], "LISTEN_PID=%*s", DIGITS, "") >= 0;
  is_made = is_made && asprintf(&made[1], "LISTEN_FDS=%d", successor->count) >= 0;
  is_made = is_made && asprintf(&made[2], "LISTEN_FDNAMES=%s", successor->names) >= 0;
  is_made = is_made && asprintf(&made[3], "RONDO_PREDECESSOR=%d", FIRST + successor->count) >= 0;
  if (!is_made) return free_environment(made), errno = ENOMEM, NULL;
  char **next = made + VARIABLES;
  for (size_t index = 0; index < count; index++) {
    if (!is_replaced(environ[index])) *next++ = environ[index];
  }
  return made;
}

// What the successor does before its program begins.
struct beginning {
  const struct rondo_successor *successor;
  const char *file;
  char **environment;
  const int *copies;
  int report;
  sigset_t ignored;
};

// In the successor. It makes raw calls: those of the library may wait for what another thread of this process had locked.
static void begin(const struct beginning *beginning) {
  const struct rondo_successor *successor = beginning->successor;
  int error = 0;
  for (int index = 0; index <= successor->count && !error; index++) {
    if (syscall(SYS_dup3, beginning->copies[index], FIRST + index, 0) < 0) error = errno;
  }
  // Others stay behind, whether or not they close on exec: a client's would stay open for as long as the successor lives.
  syscall(SYS_close_range, FIRST + successor->count + 1, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */);
  // The handler comes first in the kernel's struct sigaction, whose mask has 64 signals.
  uintptr_t action[4 + 64 / sizeof(uintptr_t)] = {0};
  for (int signal = 1; signal <= 64; signal++) {
    action[0] = sigismember(&beginning->ignored, signal) == 1 ? (uintptr_t)SIG_IGN : (uintptr_t)SIG_DFL;
    if (signal != SIGKILL && signal != SIGSTOP) syscall(SYS_rt_sigaction, signal, action, NULL, 8);
  }
  char text[DIGITS];
  int length = 0;
  for (long number = syscall(SYS_getpid); number; number /= 10) text[length++] = (char)('0' + number % 10);
  char *digits = strchr(beginning->environment[0], '=') + 1;
  for (int index = 0; index < length; index++) digits[index] = text[length - 1 - index];
  digits[length] = 0;
  uint64_t none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
  if (!error) {
    syscall(SYS_execve, beginning->file, successor->arguments, beginning->environment);
    error = errno;
  }
  while (syscall(SYS_write, beginning->report, &error, sizeof error) < 0 && errno == EINTR) {}
  syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

// systemd takes its own child alone for a main process whose end it has to wait for.
static int parent_is_systemd(void) {
  char name[32] = {0};
  snprintf(name, sizeof name, "/proc/%d/comm", getppid());
  int file = open(name, O_RDONLY | O_CLOEXEC);
  ssize_t count = file < 0 ? -1 : read(file, name, sizeof name - 1);
  if (file >= 0) close(file);
  return count > 0 && !strncmp(name, "systemd\n", 8);
}

// Starts the process, with every signal blocked, and waits until its program has begun. By the kernel's call alone:
// fork(2) makes no process that is its parent's sibling.
static int start(struct beginning *beginning, int *pidfd) {
  int is_sibling = parent_is_systemd();
  int report[2];
  if (pipe2(report, O_CLOEXEC)) return -errno;
  // Beyond the numbers that the descriptors get.
  beginning->report = fcntl(report[1], F_DUPFD_CLOEXEC, FIRST + beginning->successor->count + 1);
  int result = beginning->report < 0 ? -errno : 0;
  close(report[1]);
  if (!result) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    long flags = CLONE_PIDFD | SIGCHLD | (is_sibling ? CLONE_PARENT : 0);
    result = (int)syscall(SYS_clone, flags, NULL, pidfd, NULL, NULL);
    if (!result) begin(beginning);
    if (result < 0) result = -errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  if (beginning->report >= 0) close(beginning->report);
  int error = 0;
  ssize_t count = 0;
  while (result > 0 && (count = read(report[0], &error, sizeof error)) < 0 && errno == EINTR) {}
  close(report[0]);
  if (count <= 0) return result;
  close(*pidfd);
  while (!is_sibling && waitpid(result, NULL, 0) < 0 && errno == EINTR) {}
  return -error;
}

int rondo_spawn_successor(const struct rondo_successor *successor, int *pidfd) {
  long simulated =
      rondo_simulate(RONDO_SPAWN, -1, (long)successor->executable, (long)successor->arguments, 0, 0);
  if (simulated != -ENOSYS) {
    if (simulated > 0) *pidfd = (int)rondo_simulate(RONDO_CHILD, -1, simulated, 0, 0, 0);
    return (int)simulated;
  }
  struct beginning beginning = {.successor = successor};
  sigemptyset(&beginning.ignored);
  const int inherited[] = {SIGHUP, SIGINT, SIGQUIT};
  for (int index = 0; index < 3; index++) {
    if (rondo_signal_is_ignored(inherited[index])) sigaddset(&beginning.ignored, inherited[index]);
  }
  int made = 0, result = 0;
  int *copies = calloc((size_t)successor->count + 1, sizeof *copies);
  char *file = copies ? program_file(successor->executable) : NULL;
  char **environment = file ? successor_environment(successor) : NULL;
  if (!environment) result = -errno;
  for (; !result && made <= successor->count; made++) {
    int descriptor = made < successor->count ? successor->descriptors[made] : successor->line;
    // Beyond the numbers that they get: putting one in its place hides no other.
    copies[made] = fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST + successor->count + 1);
    if (copies[made] < 0) {
      result = -errno;
      break;
    }
  }
  if (!result) {
    beginning.file = file;
    beginning.environment = environment;
    beginning.copies = copies;
    result = start(&beginning, pidfd);
  }
  for (int index = 0; index < made; index++) close(copies[index]);
  if (environment) free_environment(environment);
  free(file);
  free(copies);
  return result;
}
