// The words for errors, which last as long as the library: the one thing here that is simplest in C.

#include "rondo.h"

const char *rondo_error_text(int error) {
  if (error >= 0) return "no error";
  switch ((enum rondo_error)error) {
    case RONDO_OK: break;
    case RONDO_ERROR_NULL: return "an argument that has to point to something is NULL";
    case RONDO_ERROR_HANDLE: return "the handle was released for good, or never was one";
    case RONDO_ERROR_KIND: return "the handle stands for something of another kind";
    case RONDO_ERROR_THREAD: return "the calling thread is not the loop's";
    case RONDO_ERROR_FORKED: return "the handle belongs to the parent of this forked process";
    case RONDO_ERROR_MODE: return "the mode's name is not UTF-8, or stands for the common modes where it cannot";
    case RONDO_ERROR_MODES: return "the loop has 64 modes already";
    case RONDO_ERROR_INVALID: return "the item was invalidated";
    case RONDO_ERROR_ELSEWHERE: return "the item is in another loop";
    case RONDO_ERROR_ABSENT: return "the item is not in that mode of the loop";
    case RONDO_ERROR_ENDED: return "the loop or the embedding has ended";
    case RONDO_ERROR_DESCRIPTOR: return "the descriptor is negative, or not open, or was closed";
    case RONDO_ERROR_POLLABLE: return "the kernel cannot wait for this kind of file";
    case RONDO_ERROR_TRIGGER: return "another source watches the descriptor with the other trigger";
    case RONDO_ERROR_SHORTAGE: return "no descriptors are left for a loop (setrlimit(2), ulimit -n), or as many are watched as max_user_watches allows (epoll(7))";
    case RONDO_ERROR_RANGE: return "a number is out of its range, or flags are unknown";
    case RONDO_ERROR_EMBEDDED: return "the loop is embedded, and its host runs it";
    case RONDO_ERROR_RUNNING: return "the loop is running, or the embedding is in its turn";
    case RONDO_ERROR_RELEASED: return "the handle has been released as often as it was retained";
    case RONDO_ERROR_MEMORY: return "no memory is left for a loop or a thread, or no room for another handle";
  }
  return "an unknown error";
}
