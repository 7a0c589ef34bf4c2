// CFFileDescriptor, names of message ports, and a dispatch queue that receives: what CoreFoundation on Linux does not have.
#ifdef RONDO
#include <rondo/CFRunLoop.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// As <dispatch/dispatch.h> declares them.
typedef struct dispatch_queue_s *dispatch_queue_t;
dispatch_queue_t dispatch_queue_create(const char *label, void *attributes);
void dispatch_release(void *object);

static void *keep(void *info) {
  printf("%s kept\n", (const char *)info);
  return info;
}

static void let_go(void *info) { printf("%s let go\n", (const char *)info); }

static void ready(CFFileDescriptorRef descriptor, CFOptionFlags types, void *info) {
  char byte;
  printf("%s ready %lu", (const char *)info, (unsigned long)types);
  if (types & kCFFileDescriptorReadCallBack) {
    printf(", read %ld", (long)read(CFFileDescriptorGetNativeDescriptor(descriptor), &byte, 1));
  }
  printf("\n");
}

static void turn(const char *what) {
  printf("%s: result %d\n", what, (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.02, true));
}

void file_descriptors(void) {
  int ends[2];
  if (pipe(ends)) return;
  CFFileDescriptorContext context = {0, "pipe", keep, let_go, NULL};
  CFFileDescriptorRef reader = CFFileDescriptorCreate(NULL, ends[0], true, ready, &context);
  CFRunLoopSourceRef source = CFFileDescriptorCreateRunLoopSource(NULL, reader, 0);
  CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
  CFRelease(source);
  if (write(ends[1], "abc", 3) != 3) return;
  turn("disabled at first");
  CFFileDescriptorEnableCallBacks(reader, kCFFileDescriptorReadCallBack);
  turn("enabled");
  turn("told once");
  CFFileDescriptorEnableCallBacks(reader, kCFFileDescriptorReadCallBack);
  CFFileDescriptorDisableCallBacks(reader, kCFFileDescriptorReadCallBack);
  turn("disabled");
  CFFileDescriptorEnableCallBacks(reader, kCFFileDescriptorReadCallBack);
  turn("enabled again");
  CFFileDescriptorContext read_back;
  CFFileDescriptorGetContext(reader, &read_back);
  printf("context %d %d\n", read_back.info == context.info, read_back.retain == keep);
  close(ends[1]);
  CFFileDescriptorInvalidate(reader);
  printf("valid %d, native %d, closed %d\n", CFFileDescriptorIsValid(reader),
         CFFileDescriptorGetNativeDescriptor(reader), write(ends[0], "", 1) < 0);
  CFRelease(reader);
  printf("none %d\n", CFFileDescriptorCreate(NULL, -1, false, ready, NULL) == NULL);
}

// ------------------------------------------------------------------------------------------------------- Names and queues

static pthread_t main_thread;

static CFDataRef answer(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info) {
  (void)local, (void)info;
  printf("message %d on the main thread %d\n", (int)msgid, pthread_equal(pthread_self(), main_thread) != 0);
  return CFDataCreateCopy(NULL, data);
}

static void ask(CFStringRef name, SInt32 msgid) {
  CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, name);
  if (!remote) {
    printf("%d finds none\n", (int)msgid);
    return;
  }
  CFDataRef reply = NULL;
  SInt32 result = CFMessagePortSendRequest(remote, msgid, NULL, 5, 5, kCFRunLoopDefaultMode, &reply);
  printf("%d: result %d, reply %d\n", (int)msgid, (int)result, reply != NULL);
  if (reply) CFRelease(reply);
  CFMessagePortInvalidate(remote);
  CFRelease(remote);
}

void names_and_queues(void) {
  main_thread = pthread_self();
  Boolean free_info;
  CFStringRef first = CFStringCreateWithFormat(NULL, NULL, CFSTR("a name with/slash and %%, of %d"), (int)getpid());
  CFStringRef second = CFStringCreateWithFormat(NULL, NULL, CFSTR("%0200d"), (int)getpid());
  CFMessagePortRef port = CFMessagePortCreateLocal(NULL, NULL, answer, NULL, &free_info);
  printf("unnamed %d, name %d\n", port != NULL, CFMessagePortGetName(port) != NULL);
  CFRunLoopSourceRef source = CFMessagePortCreateRunLoopSource(NULL, port, 0);
  CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
  ask(first, 1);
  printf("named %d\n", CFMessagePortSetName(port, first));
  ask(first, 2);
  printf("renamed %d %d\n", CFMessagePortSetName(port, second), CFEqual(CFMessagePortGetName(port), second));
  ask(first, 3);
  ask(second, 4);
  printf("empty %d\n", CFMessagePortSetName(port, CFSTR("")));

  dispatch_queue_t queue = dispatch_queue_create("answers", NULL);
  CFMessagePortSetDispatchQueue(port, queue);
  printf("in the loop %d\n", CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode));
  CFRelease(source);
  ask(second, 5);
  CFMessagePortSetDispatchQueue(port, NULL);
  source = CFMessagePortCreateRunLoopSource(NULL, port, 0);
  CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
  CFRelease(source);
  ask(second, 6);
  CFMessagePortInvalidate(port);
  CFRelease(port);
  dispatch_release(queue);
  CFRelease(first);
  CFRelease(second);
}

// ----------------------------------------------------------------------------------------------------------- Descriptions

static CFStringRef describe(const void *info) { return CFStringCreateWithFormat(NULL, NULL, CFSTR("<%s>"), info); }

static void nothing(CFRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }

static void note(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
  (void)observer, (void)activity, (void)info;
}

static void gone(CFMessagePortRef port, void *info) { (void)port, (void)info; }

// Everything behind the address, which differs from run to run.
static void print_description(CFTypeRef object) {
  CFStringRef description = CFCopyDescription(object);
  const char *text = CFStringGetCStringPtr(description, kCFStringEncodingUTF8);
  const char *rest = strchr(text, '{');
  printf("%.*s %s\n", (int)strcspn(text, " "), text, rest ? rest : strchr(text, '>'));
  CFRelease(description);
}

void descriptions(void) {
  CFRunLoopRef loop = CFRunLoopGetCurrent();
  CFRunLoopTimerContext of_timer = {0, "a timer", NULL, NULL, describe};
  CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, 3000000000, 10, 0, 0, nothing, &of_timer);
  CFRunLoopTimerSetTolerance(timer, 2);
  CFRunLoopAddTimer(loop, timer, kCFRunLoopCommonModes);
  printf("tolerance %g\n", CFRunLoopTimerGetTolerance(timer));
  CFRunLoopObserverContext of_observer = {0, "an observer", NULL, NULL, describe};
  CFRunLoopObserverRef observer = CFRunLoopObserverCreate(NULL, kCFRunLoopEntry, true, 3, note, &of_observer);
  CFRunLoopAddObserver(loop, observer, CFSTR("other"));
  print_description(timer);
  print_description(observer);
  CFRunLoopTimerInvalidate(timer);
  print_description(timer);

  CFMessagePortContext context = {0, "a port", NULL, NULL, NULL}, read;
  CFStringRef name = CFStringCreateWithFormat(NULL, NULL, CFSTR("described-%d"), (int)getpid());
  Boolean free_info;
  CFMessagePortRef port = CFMessagePortCreateLocal(NULL, name, answer, &context, &free_info);
  CFMessagePortGetContext(port, &read);
  CFMessagePortSetInvalidationCallBack(port, gone);
  printf("port %d %d %d\n", read.info == context.info, CFMessagePortGetInvalidationCallBack(port) == gone,
         CFGetTypeID(port) == CFMessagePortGetTypeID());
  int ends[2];
  if (pipe(ends)) return;
  CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, ends[0], true, ready, NULL);
  printf("descriptor %d, references %ld\n", CFGetTypeID(descriptor) == CFFileDescriptorGetTypeID(),
         (long)CFGetRetainCount(descriptor));
  CFFileDescriptorInvalidate(descriptor);
  CFMessagePortInvalidate(port);
  CFRelease(descriptor), CFRelease(port), CFRelease(name), CFRelease(timer), CFRelease(observer);
  close(ends[1]);
  // On stderr.
  CFShow(loop);
}

// A loop has room for 64 modes; CoreFoundation's for any number.
void too_many_modes(void) {
  CFRunLoopRef loop = CFRunLoopGetCurrent();
  int found = 0;
  for (int i = 0; i < 70; i++) {
    CFStringRef mode = CFStringCreateWithFormat(NULL, NULL, CFSTR("mode-%d"), i);
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, 3000000000, 0, 0, 0, nothing, NULL);
    CFRunLoopAddTimer(loop, timer, mode);
    found += CFRunLoopContainsTimer(loop, timer, mode);
    CFRelease(timer), CFRelease(mode);
  }
  printf("found %d\n", found);
}
#endif
