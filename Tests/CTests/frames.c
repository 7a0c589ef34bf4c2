#define _GNU_SOURCE
#include "probe.h"

#include <dlfcn.h>
#include <execinfo.h>

int stack_offsets(uint64_t *offsets, int capacity) {
  void *frames[256];
  Dl_info own = {0};
  dladdr((void *)&stack_offsets, &own);
  int count = backtrace(frames, capacity < 256 ? capacity : 256);
  for (int index = 0; index < count; index++) {
    Dl_info info = {0};
    int is_own = dladdr(frames[index], &info) && info.dli_fbase == own.dli_fbase;
    offsets[index] = is_own ? (uint64_t)((char *)frames[index] - (char *)own.dli_fbase) : 0;
  }
  return count;
}
