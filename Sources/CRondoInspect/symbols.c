#define _GNU_SOURCE
#include "symbols.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// The runtime's own, as its debugger interface has it.
extern char *swift_demangle(const char *, size_t, char *, size_t *, uint32_t) __attribute__((weak));

static void put(char *to, size_t limit, const char *from) {
  strncpy(to, from, limit - 1);
  to[limit - 1] = 0;
}

int64_t rondo_nearest_symbol(uint64_t address, char *name, size_t name_limit, char *image, size_t image_limit) {
  Dl_info info;
  name[0] = image[0] = 0;
  if (!dladdr((void *)(uintptr_t)address, &info)) return -1;
  if (info.dli_fname) {
    const char *slash = strrchr(info.dli_fname, '/');
    put(image, image_limit, slash ? slash + 1 : info.dli_fname);
  }
  if (!info.dli_sname) return -1;
  char *readable = swift_demangle ? swift_demangle(info.dli_sname, strlen(info.dli_sname), NULL, NULL, 0) : NULL;
  put(name, name_limit, readable ? readable : info.dli_sname);
  free(readable);
  return (int64_t)(address - (uint64_t)(uintptr_t)info.dli_saddr);
}

void rondo_trim_memory(void) { malloc_trim(0); }
