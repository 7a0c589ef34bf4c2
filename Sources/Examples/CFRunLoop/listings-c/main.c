// Programs for CFRunLoop in C, compiled twice: with each of the two includes. Only message ports are Rondo's alone.
#ifdef RONDO
#include <rondo/CFRunLoop.h>
#else
#include <CoreFoundation/CoreFoundation.h>
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ports(void);

// -------------------------------------------------------------------------------------------------------------- Contexts

struct counted {
  const char *name;
  int count;
};

static const void *retain(const void *info) {
  struct counted *counted = (struct counted *)info;
  printf("%s retain %d\n", counted->name, ++counted->count);
  return info;
}

static void release(const void *info) {
  struct counted *counted = (struct counted *)info;
  printf("%s release %d\n", counted->name, --counted->count);
}

static void print_string(const char *what, CFStringRef string) {
  char text[100];
  if (!CFStringGetCString(string, text, sizeof text, kCFStringEncodingUTF8)) strcpy(text, "?");
  printf("%s %s\n", what, text);
}

static void schedule(void *info, CFRunLoopRef loop, CFRunLoopMode mode) {
  printf("%s schedule %d ", ((struct counted *)info)->name, loop == CFRunLoopGetCurrent());
  print_string("in", mode);
}

static void cancel(void *info, CFRunLoopRef loop, CFRunLoopMode mode) {
  printf("%s cancel %d ", ((struct counted *)info)->name, loop == CFRunLoopGetCurrent());
  print_string("in", mode);
}

static void perform(void *info) { printf("%s perform\n", ((struct counted *)info)->name); }

static void fire(CFRunLoopTimerRef timer, void *info) {
  printf("%s fire %d\n", ((struct counted *)info)->name, CFRunLoopTimerIsValid(timer));
}

static void observe(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
  printf("%s activity %lu %d\n", ((struct counted *)info)->name, (unsigned long)activity,
         CFRunLoopObserverIsValid(observer));
}

static void contexts(void) {
  CFRunLoopRef loop = CFRunLoopGetCurrent();
  struct counted s = {"source", 0}, t = {"timer", 0}, o = {"observer", 0};

  CFRunLoopSourceContext of_source = {0, &s, retain, release, NULL, NULL, NULL, schedule, cancel, perform};
  CFRunLoopSourceRef source = CFRunLoopSourceCreate(kCFAllocatorDefault, 3, &of_source);
  CFRunLoopTimerContext of_timer = {0, &t, retain, release, NULL};
  CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() - 1, 0, 0, 0, fire, &of_timer);
  CFRunLoopObserverContext of_observer = {0, &o, retain, release, NULL};
  CFRunLoopObserverRef observer =
      CFRunLoopObserverCreate(NULL, kCFRunLoopAllActivities, true, 0, observe, &of_observer);

  CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode);
  CFRunLoopAddTimer(loop, timer, kCFRunLoopCommonModes);
  CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode);
  printf("result %d\n", (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false));
  CFRunLoopSourceSignal(source);
  printf("result %d\n", (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 5, true));
  CFRunLoopSourceContext read;
  memset(&read, 0, sizeof read);
  CFRunLoopSourceGetContext(source, &read);
  printf("context %d %d\n", read.info == &s, read.perform == perform);

  // Its user's reference first, then the loop's.
  CFRelease(observer);
  printf("observer left to the loop\n");
  CFRunLoopRemoveObserver(loop, observer, kCFRunLoopDefaultMode);
  CFRetain(timer);
  CFRelease(timer);
  printf("timer valid %d\n", CFRunLoopTimerIsValid(timer));
  CFRelease(timer);
  CFRunLoopRemoveSource(loop, source, kCFRunLoopDefaultMode);
  printf("source removed\n");
  CFRelease(source);
  printf("left %d %d %d\n", s.count, t.count, o.count);
}

// ---------------------------------------------------------------------------------------------------------------- Blocks

static void blocks(void) {
#if __BLOCKS__
  CFRunLoopRef loop = CFRunLoopGetCurrent();
  __block int fires = 0;
  CFRunLoopTimerRef timer =
      CFRunLoopTimerCreateWithHandler(NULL, CFAbsoluteTimeGetCurrent(), 0.001, 0, 0, ^(CFRunLoopTimerRef fired) {
        printf("fire %d\n", ++fires);
        if (fires == 3) CFRunLoopTimerInvalidate(fired);
      });
  CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode);
  CFRelease(timer);
  CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, ^{ printf("block\n"); });
  CFRunLoopObserverRef observer = CFRunLoopObserverCreateWithHandler(
      NULL, kCFRunLoopEntry | kCFRunLoopExit, true, 0, ^(CFRunLoopObserverRef told, CFRunLoopActivity activity) {
        printf("activity %lu after %d %d\n", (unsigned long)activity, fires, CFRunLoopObserverDoesRepeat(told));
      });
  CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode);
  CFRelease(observer);
  printf("result %d\n", (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, false));
#endif
}

// ---------------------------------------------------------------------------------------------------------------- Values

static void values(void) {
  CFStringRef constant = CFSTR("a constant");
  print_string("string", constant);
  CFStringRef greeting = CFStringCreateWithCString(NULL, "gr\xc3\xbc\xc3\x9f", kCFStringEncodingUTF8);
  printf("length %ld\n", (long)CFStringGetLength(greeting));
  CFRelease(greeting);
  CFStringRef made = CFStringCreateWithCString(NULL, "a constant", kCFStringEncodingUTF8);
  printf("equal %d hash %d\n", CFEqual(made, constant), CFHash(made) == CFHash(constant));
  CFRelease(made);
  printf("bad %d\n", CFStringCreateWithCString(NULL, "\xff", kCFStringEncodingUTF8) == NULL);
  char small[5];
  printf("small %d\n", CFStringGetCString(constant, small, sizeof small, kCFStringEncodingUTF8));

  const UInt8 bytes[] = {1, 2, 3, 4};
  CFDataRef data = CFDataCreate(NULL, bytes, 4);
  UInt8 part[2];
  CFDataGetBytes(data, CFRangeMake(1, 2), part);
  printf("data %ld %d %d %d\n", (long)CFDataGetLength(data), CFDataGetBytePtr(data)[3], part[0], part[1]);
  CFRelease(data);

  const void *list[] = {CFSTR("one"), CFSTR("two")};
  CFArrayRef array = CFArrayCreate(NULL, list, 2, &kCFTypeArrayCallBacks);
  printf("array %ld\n", (long)CFArrayGetCount(array));
  print_string("second", CFArrayGetValueAtIndex(array, 1));
  CFRelease(array);
  printf("types %d %d\n", CFGetTypeID(constant) == CFStringGetTypeID(),
         CFGetTypeID(CFRunLoopGetCurrent()) == CFRunLoopGetTypeID());
}

static void *on_thread(void *function) {
  ((void (*)(void))function)();
  return NULL;
}

static void try(const char *name, void (*function)(void)) {
  pthread_t thread;
  printf("== %s\n", name);
  pthread_create(&thread, NULL, on_thread, (void *)function);
  pthread_join(thread, NULL);
}

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef RONDO
  if (count > 1 && strcmp(arguments[1], "ports") == 0) {
    ports();
    return 0;
  }
#else
  (void)count, (void)arguments;
#endif
  try("contexts", contexts);
  try("blocks", blocks);
  try("values", values);
  return 0;
}
