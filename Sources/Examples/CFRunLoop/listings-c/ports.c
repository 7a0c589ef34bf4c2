// CFMessagePort, which CoreFoundation on Linux declares and does not have: between two threads, and two processes.
#ifdef RONDO
#include <rondo/CFRunLoop.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char name[40];
static int pipe_ends[2];

static CFStringRef port_name(void) { return CFStringCreateWithCString(NULL, name, kCFStringEncodingUTF8); }

static void info_released(const void *info) { printf("%s released\n", (const char *)info); }

static CFDataRef answer(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info) {
  (void)local;
  if (msgid == 0) {
    CFRunLoopStop(CFRunLoopGetCurrent());
    return NULL;
  }
  char text[100];
  int length = snprintf(text, sizeof text, "%s %d: %.*s", (const char *)info, (int)msgid, (int)CFDataGetLength(data),
                        (const char *)CFDataGetBytePtr(data));
  return CFDataCreate(NULL, (const UInt8 *)text, length);
}

static void invalidated(CFMessagePortRef port, void *info) {
  (void)info;
  printf("invalidated, remote %d\n", CFMessagePortIsRemote(port));
}

// Answers until it is told to stop. `written` says that the name is there.
static void serve(const char *who) {
  CFMessagePortContext context = {0, (void *)who, NULL, info_released, NULL};
  CFStringRef text = port_name();
  Boolean should_free = true, again = false;
  CFMessagePortRef port = CFMessagePortCreateLocal(NULL, text, answer, &context, &should_free);
  CFMessagePortRef same = CFMessagePortCreateLocal(NULL, text, answer, &context, &again);
  printf("made %d, free info %d; the same %d, free info %d\n", port != NULL, should_free, port == same, again);
  CFRelease(same);
  CFRunLoopSourceRef source = CFMessagePortCreateRunLoopSource(NULL, port, 0);
  CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
  printf("contains %d\n", CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode));
  CFRelease(source);
  fflush(stdout);
  if (write(pipe_ends[1], "", 1) != 1) abort();
  CFRunLoopRun();
  CFMessagePortInvalidate(port);
  printf("valid %d\n", CFMessagePortIsValid(port));
  CFRelease(port);
  CFRelease(text);
}

// Waits until the name is there, and asks.
static void ask(void) {
  char byte;
  if (read(pipe_ends[0], &byte, 1) != 1) abort();
  CFStringRef text = port_name();
  CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, text);
  printf("remote %d\n", CFMessagePortIsRemote(remote));
  CFMessagePortSetInvalidationCallBack(remote, invalidated);
  CFDataRef data = CFDataCreate(NULL, (const UInt8 *)"hello", 5);
  for (SInt32 id = 1; id <= 2; id++) {
    CFDataRef reply = NULL;
    SInt32 result = CFMessagePortSendRequest(remote, id, data, 60, 60, CFSTR("asking"), &reply);
    printf("result %d, %.*s\n", (int)result, reply ? (int)CFDataGetLength(reply) : 0,
           reply ? (const char *)CFDataGetBytePtr(reply) : "");
    if (reply) CFRelease(reply);
  }
  CFMessagePortInvalidate(remote);
  printf("result %d\n", (int)CFMessagePortSendRequest(remote, 3, NULL, 1, 1, NULL, NULL));
  CFRelease(remote);
  // The server ends with this one, which invalidates every connected port, whenever the port notices that.
  CFMessagePortRef last = CFMessagePortCreateRemote(NULL, text);
  printf("result %d\n", (int)CFMessagePortSendRequest(last, 0, data, 60, 0, NULL, NULL));
  CFRelease(last);
  CFRelease(data);
  CFRelease(text);
}

static void *serving(void *unused) {
  (void)unused;
  serve("thread");
  return NULL;
}

void ports(void) {
  snprintf(name, sizeof name, "rondo-cf-%d", (int)getpid());
  if (pipe(pipe_ends) != 0) abort();
  // Before this process has a loop.
  pid_t child = fork();
  if (child == 0) {
    serve("process");
    fflush(stdout);
    _exit(0);
  }
  ask();
  waitpid(child, NULL, 0);
  CFStringRef text = port_name();
  printf("nobody %d\n", CFMessagePortCreateRemote(NULL, text) == NULL);
  CFRelease(text);
  pthread_t thread;
  pthread_create(&thread, NULL, serving, NULL);
  ask();
  pthread_join(thread, NULL);
}
#endif
