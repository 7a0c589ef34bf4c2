#define _GNU_SOURCE

#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../CLinux/simulated.h"

extern char **environ;

static int or_errno(long result) { return result < 0 ? -errno : (int)result; }

int rondo_pidfd_open(int process) {
  long simulated = rondo_simulate(RONDO_CHILD, -1, process, 0, 0, 0);
  return simulated != -ENOSYS ? (int)simulated : or_errno(syscall(SYS_pidfd_open, process, 0));
}

int rondo_pidfd_signal(int descriptor, int signal) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_CHILD_SIGNAL, descriptor, signal, 0, 0, 0);
  return or_errno(syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, 0));
}

static int64_t microseconds(struct timeval time) { return (int64_t)time.tv_sec * 1000000 + time.tv_usec; }

int rondo_child_look(int descriptor, int reaps, struct rondo_child_end *end) {
  if (rondo_is_simulated(descriptor)) {
    int told[2] = {0, 0};
    int result = (int)rondo_simulate(RONDO_CHILD_LOOK, descriptor, reaps, (long)told, 0, 0);
    if (result > 0) *end = (struct rondo_child_end){.was_killed = told[0], .status = told[1]};
    return result;
  }
  siginfo_t info = {0};
  struct rusage usage = {0};
  long result;
  do {
    // The library's waitid(3) does not tell the usage.
    result = syscall(
        SYS_waitid, 3 /* P_PIDFD */, descriptor, &info, WEXITED | WNOHANG | (reaps ? 0 : WNOWAIT), &usage);
  } while (result < 0 && errno == EINTR);
  if (result < 0) return -errno;
  if (info.si_pid == 0) return 0;
  end->was_killed = info.si_code == CLD_KILLED ? 1 : info.si_code == CLD_DUMPED ? 2 : 0;
  end->status = info.si_status;
  end->user_time = microseconds(usage.ru_utime);
  end->system_time = microseconds(usage.ru_stime);
  end->peak_memory = usage.ru_maxrss;
  end->minor_faults = usage.ru_minflt;
  end->major_faults = usage.ru_majflt;
  end->voluntary_switches = usage.ru_nvcsw;
  end->involuntary_switches = usage.ru_nivcsw;
  return 1;
}

// What systemd says to this process, and to none that it starts: sd_notify(3), sd_listen_fds(3).
static int is_private(const char *variable) {
  static const char *const names[] = {"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=", "LISTEN_PID=",
                                      "LISTEN_FDS=", "LISTEN_FDNAMES=", "LISTEN_PIDFDID="};
  for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
    if (!strncmp(variable, names[index], strlen(names[index]))) return 1;
  }
  return 0;
}

static char **public_environment(void) {
  size_t count = 0;
  while (environ && environ[count]) count++;
  char **copy = calloc(count + 1, sizeof *copy);
  if (!copy) return NULL;
  char **next = copy;
  for (size_t index = 0; index < count; index++) {
    if (!is_private(environ[index])) *next++ = environ[index];
  }
  return copy;
}

// Above the three streams, so that putting one in its place cannot hide another; closed on exec.
static int add_stream(posix_spawn_file_actions_t *actions, int stream, int descriptor, int *copy) {
  *copy = -1;
  // Without a stream, the child's first file would take its number, and then what the child prints.
  if (descriptor == -1) {
    int flags = fcntl(stream, F_GETFD);
    if (flags >= 0) {
      // A duplicate of its own number is not closed on exec.
      return flags & FD_CLOEXEC ? posix_spawn_file_actions_adddup2(actions, stream, stream) : 0;
    }
    descriptor = -2;
  }
  if (descriptor == -2) {
    return posix_spawn_file_actions_addopen(actions, stream, "/dev/null", stream == 0 ? O_RDONLY : O_WRONLY, 0);
  }
  *copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  return *copy < 0 ? errno : posix_spawn_file_actions_adddup2(actions, *copy, stream);
}

int rondo_spawn(const struct rondo_command *command) {
  long simulated = rondo_simulate(RONDO_SPAWN, -1, (long)command->executable, (long)command->arguments, 0, 0);
  if (simulated != -ENOSYS) return (int)simulated;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int copies[3] = {-1, -1, -1};
  pid_t process = -1;
  char **environment = command->environment ? (char **)command->environment : public_environment();
  if (!environment) return -ENOMEM;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) goto without_actions;
  error = posix_spawnattr_init(&attributes);
  if (error) goto without_attributes;
  for (int stream = 0; stream < 3 && !error; stream++) {
    error = add_stream(&actions, stream, command->streams[stream], &copies[stream]);
  }
  if (!error && command->directory) error = posix_spawn_file_actions_addchdir_np(&actions, command->directory);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
  if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
  if (command->leads_group) flags |= POSIX_SPAWN_SETPGROUP;
  if (!error) error = posix_spawnattr_setflags(&attributes, flags);
  if (!error) {
    error = posix_spawnp(&process, command->executable, &actions, &attributes, command->arguments, environment);
  }
  for (int stream = 0; stream < 3; stream++) {
    if (copies[stream] >= 0) close(copies[stream]);
  }
  posix_spawnattr_destroy(&attributes);
without_attributes:
  posix_spawn_file_actions_destroy(&actions);
without_actions:
  if (!command->environment) free(environment);
  return error ? -error : process;
}

void rondo_abandon(int process) {
  kill(process, SIGKILL);
  while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {}
}
