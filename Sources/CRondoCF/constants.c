// Constants of CoreFoundation that are objects: made when the library is loaded. Named by their symbols.
#include "CRondoCFPointers.h"

#include <stddef.h>
#include <time.h>

const void *RondokCFAllocatorDefault = NULL;
const void *RondokCFAllocatorSystemDefault = NULL;
const void *RondokCFAllocatorMalloc = NULL;
const void *RondokCFAllocatorNull;
const void *RondokCFRunLoopDefaultMode;
const void *RondokCFRunLoopCommonModes;

static const void *retain(const void *allocator, const void *value) {
  (void)allocator;
  return RondoCFRetain(value);
}

static void release(const void *allocator, const void *value) {
  (void)allocator;
  RondoCFRelease(value);
}

const CFArrayCallBacks RondokCFTypeArrayCallBacks = {0, retain, release, RondoCFCopyDescription, RondoCFEqual};

__attribute__((constructor)) static void make_constants(void) {
  RondokCFAllocatorNull = rondo_cf_null_allocator();
  RondokCFRunLoopDefaultMode = RondoCFStringMakeConstant("kCFRunLoopDefaultMode");
  RondokCFRunLoopCommonModes = RondoCFStringMakeConstant("kCFRunLoopCommonModes");
}

CFAbsoluteTime rondo_cf_absolute_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec - kCFAbsoluteTimeIntervalSince1970 + (double)now.tv_nsec / 1e9;
}
