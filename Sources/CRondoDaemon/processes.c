#define _GNU_SOURCE

#include "processes.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

int rondo_group_signal(int descriptor, int process, int signal) {
  if (rondo_is_simulated(descriptor)) return rondo_pidfd_signal(descriptor, signal);
  long result = syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, 4 /* PIDFD_SIGNAL_PROCESS_GROUP */);
  if (result == 0 || errno != EINVAL) return or_errno(result);
  // Before Linux 6.9 by number, which is the group's own until the child is reaped.
  struct rondo_child_end end;
  return rondo_child_look(descriptor, 0, &end) < 0 ? -ESRCH : or_errno(kill(-process, signal));
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
                                      "LISTEN_FDS=", "LISTEN_FDNAMES=", "LISTEN_PIDFDID=", "RONDO_PREDECESSOR="};
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

// Whether there is a file of that name, for a child that begins in the directory.
static int is_there(const char *directory, const char *name) {
  int begin = directory ? open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
  int is_found = (begin >= 0 || !directory) && !faccessat(begin, name, F_OK, 0);
  if (begin >= 0) close(begin);
  return is_found;
}

// The same for a program, which is looked for as posix_spawnp(3) does.
static int is_program_there(const char *directory, const char *executable) {
  if (!*executable || strchr(executable, '/')) return *executable && is_there(directory, executable);
  const char *path = getenv("PATH");
  if (!path) path = "/bin:/usr/bin";
  while (1) {
    size_t length = strcspn(path, ":");
    char name[PATH_MAX];
    int count = snprintf(name, sizeof name, "%.*s%s%s", (int)length, path, length ? "/" : "", executable);
    if (count < (int)sizeof name && is_there(directory, name)) return 1;
    if (!path[length]) return 0;
    path += length + 1;
  }
}

// What was not found, where posix_spawn(3) says ENOENT or ENOTDIR for all of it.
static int missing(const struct rondo_command *command) {
  struct stat status;
  if (command->directory && (stat(command->directory, &status) || !S_ISDIR(status.st_mode))) return ENOTDIR;
  return is_program_there(command->directory, command->executable) ? ELIBACC : ENOENT;
}

int rondo_bytes_file(const void *bytes, size_t count) {
  int file = or_errno(memfd_create("input", MFD_CLOEXEC));
  // The offset stays at the first byte.
  for (size_t start = 0; file >= 0 && start < count;) {
    ssize_t result = pwrite(file, (const char *)bytes + start, count - start, (off_t)start);
    if (result >= 0) {
      start += (size_t)result;
    } else if (errno != EINTR) {
      int error = errno;
      close(file);
      return -error;
    }
  }
  return file;
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
  // nohup(1) or a shell has this process ignore these, and with it the processes that it starts.
  const int inherited[] = {SIGHUP, SIGINT, SIGQUIT};
  for (int index = 0; index < 3; index++) {
    if (rondo_signal_is_ignored(inherited[index])) sigdelset(&all, inherited[index]);
  }
  if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
  if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
  if (command->leads_group) flags |= POSIX_SPAWN_SETPGROUP;
  if (!error) error = posix_spawnattr_setflags(&attributes, flags);
  // A child is started only if there is a number to watch it with, which is free again in time for that.
  int reserve = error ? -1 : eventfd(0, EFD_CLOEXEC);
  if (!error && reserve < 0) error = errno;
  if (!error) {
    error = posix_spawnp(&process, command->executable, &actions, &attributes, command->arguments, environment);
    if (error == ENOENT || error == ENOTDIR) error = missing(command);
  }
  if (reserve >= 0) close(reserve);
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

static void *reap(void *process) {
  while (waitpid((pid_t)(intptr_t)process, NULL, 0) < 0 && errno == EINTR) {}
  return NULL;
}

void rondo_abandon(int process) {
  siginfo_t info;
  // Other code has reaped it: the number may be a stranger's.
  if (waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT)) return;
  kill(process, SIGKILL);
  // It ends when it leaves the kernel, and no loop waits for that.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, NULL, reap, (void *)(intptr_t)process)) {
    reap((void *)(intptr_t)process);
  } else {
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
