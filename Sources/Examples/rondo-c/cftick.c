// The same as tick.c in CFRunLoop's names, as a program that was written for it has them.
//
//   make install PREFIX=/usr/local
//   cc cftick.c $(pkg-config --cflags --libs rondo) -o cftick && ./cftick
//
// It prints, in a third of a second:
//
//   tick in kCFRunLoopDefaultMode
//   tick in kCFRunLoopDefaultMode
//   tick in kCFRunLoopDefaultMode
//   stopped

#include <rondo/CFRunLoop.h>
#include <stdio.h>

static void tick(CFRunLoopTimerRef timer, void *info) {
  int *ticks = info;
  CFRunLoopMode mode = CFRunLoopCopyCurrentMode(CFRunLoopGetCurrent());
  (void)timer;
  printf("tick in %s\n", CFStringGetCStringPtr(mode, kCFStringEncodingUTF8));
  CFRelease(mode);
  *ticks += 1;
  if (*ticks == 3) CFRunLoopStop(CFRunLoopGetCurrent());
}

int main(void) {
  int ticks = 0;
  CFRunLoopTimerContext context = {0, &ticks, NULL, NULL, NULL};
  CFRunLoopTimerRef timer =
      CFRunLoopTimerCreate(kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + 0.1, 0.1, 0, 0, tick, &context);
  CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopCommonModes);
  CFRelease(timer);
  CFRunLoopRunResult result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, false);
  printf("%s\n", result == kCFRunLoopRunStopped ? "stopped" : "something else");
  return 0;
}
