#define _GNU_SOURCE

#include "pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

const char *rondo_service_environment(const char *name) { return secure_getenv(name); }

static int fail(int file) {
  int error = errno;
  close(file);
  return -error;
}

// Whether a plain file is the kernel's word on pressure: others of procfs and of a group act on what is written into them.
static int is_kernels(int file, const char *name) {
  struct statfs system;
  if (fstatfs(file, &system)) return 0;
  char path[4096];
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  const char *last = strrchr(path, '/');
  if (!last) return 0;
  if (system.f_type == CGROUP2_SUPER_MAGIC) {
    size_t end = strlen(last);
    return end > 9 && strcmp(last + end - 9, ".pressure") == 0;
  }
  return system.f_type == PROC_SUPER_MAGIC && last - path >= 9 && strncmp(last - 9, "/pressure", 9) == 0;
}

int rondo_pressure_open(const char *path, enum rondo_pressure_kind *kind) {
  // It is looked at before it is opened: that alone may do something to a device.
  int place = open(path, O_PATH | O_CLOEXEC);
  if (place < 0) return -errno;
  struct stat status;
  if (fstat(place, &status)) return fail(place);
  char name[32];
  snprintf(name, sizeof name, "/proc/self/fd/%d", place);
  *kind = RONDO_PRESSURE_OTHER;
  if (S_ISFIFO(status.st_mode)) *kind = RONDO_PRESSURE_PIPE;
  if (S_ISREG(status.st_mode) && is_kernels(place, name)) *kind = RONDO_PRESSURE_KERNEL;
  if (*kind == RONDO_PRESSURE_OTHER) return place;
  // A pipe that is open for writing as well has no end when its writers have gone.
  int file = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return fail(place);
  close(place);
  return file;
}

int rondo_pressure_arm(int file, const void *trigger, size_t length) {
  ssize_t written = write(file, trigger, length);
  if (written < 0) return -errno;
  return (size_t)written == length ? 0 : -EIO;
}

int rondo_pressure_set(int file) {
  int set = epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) return -errno;
  struct epoll_event event = {.events = EPOLLPRI};
  if (epoll_ctl(set, EPOLL_CTL_ADD, file, &event)) {
    int error = errno;
    close(set);
    return -error;
  }
  return set;
}

int rondo_pressure_take(int set) {
  struct epoll_event event;
  // Nothing, as a rule: the wait that found the set readable has taken the event.
  return epoll_wait(set, &event, 1, 0) == 1 && event.events & (EPOLLERR | EPOLLHUP);
}

long rondo_pressure_text(int file, char *room, size_t length) {
  ssize_t count = pread(file, room, length, 0);
  return count < 0 ? -errno : count;
}
