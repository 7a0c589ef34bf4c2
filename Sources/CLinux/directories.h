// Directories in which only this user names files. What was looked at is what is used: a path may lead elsewhere since.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// A variable of the environment; NULL for a program that has more rights than its caller, as with secure_getenv(3), which
// <stdlib.h> shows only to _GNU_SOURCE.
static inline const char *rondo_environment(const char *name) { return getauxval(AT_SECURE) ? NULL : getenv(name); }

// Opens a directory that belongs to the user or root, and in which no other user may put files; if it may be sticky, no
// other user may replace files. Its descriptor, for the calls that take one, or minus errno: -EPERM if another user may.
// So must a symbolic link to it, for the link's owner can have it lead elsewhere.
static inline int rondo_open_safe(const char *path, uid_t user, int may_be_sticky) {
  struct stat link, status;
  if (lstat(path, &link)) return -errno;
  // O_PATH, which <fcntl.h> shows only to _GNU_SOURCE.
  int directory = open(path, __O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -errno;
  int is_safe = fstat(directory, &status) == 0 && (link.st_uid == user || link.st_uid == 0) &&
                (status.st_uid == user || status.st_uid == 0) &&
                (!(status.st_mode & 022) || (may_be_sticky && status.st_mode & S_ISVTX));
  if (is_safe) return directory;
  close(directory);
  return -EPERM;
}

// Opens a file in a directory and locks it: its descriptor, or -EWOULDBLOCK. The kernel unlocks it when the holder dies.
static inline int rondo_open_locked(int directory, const char *name) {
  int descriptor = openat(directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return -errno;
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  int error = errno;
  close(descriptor);
  return -error;
}

// Removes a file from a directory. 0, also if there is none, or minus errno.
static inline int rondo_remove(int directory, const char *name) {
  return unlinkat(directory, name, 0) && errno != ENOENT ? -errno : 0;
}
