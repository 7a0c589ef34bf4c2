// A thread that is sent work by message ports, in the style of the old listings: it checks in with the main thread, which
// then sends to it. CFMessagePort is Rondo's alone on Linux.
#ifdef RONDO
#include <rondo/CFRunLoop.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define kCheckinMessage 100
#define kWorkMessage 101
#define kDoneMessage 102

static CFMessagePortRef active_thread;

static CFDataRef MainThreadResponseHandler(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info) {
  (void)local, (void)info;
  if (msgid == kCheckinMessage) {
    CFIndex bufferLength = CFDataGetLength(data);
    UInt8 *buffer = CFAllocatorAllocate(NULL, bufferLength, 0);
    CFDataGetBytes(data, CFRangeMake(0, bufferLength), buffer);
    CFStringRef threadPortName = CFStringCreateWithBytes(NULL, buffer, bufferLength, kCFStringEncodingASCII, FALSE);
    active_thread = CFMessagePortCreateRemote(NULL, threadPortName);
    printf("checked in %d\n", active_thread != NULL);
    CFRelease(threadPortName);
    CFAllocatorDeallocate(NULL, buffer);
  }
  CFRunLoopStop(CFRunLoopGetCurrent());
  return NULL;
}

static CFDataRef ProcessClientRequest(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info) {
  (void)local, (void)info;
  if (msgid == kDoneMessage) {
    CFRunLoopStop(CFRunLoopGetCurrent());
    return NULL;
  }
  printf("work %d of %ld bytes\n", (int)msgid, (long)CFDataGetLength(data));
  return CFDataCreateCopy(NULL, data);
}

static void *ServerThreadEntryPoint(void *param) {
  CFStringRef portName = (CFStringRef)param;
  CFMessagePortRef mainThreadPort = CFMessagePortCreateRemote(NULL, portName);
  CFRelease(portName);

  CFStringRef myPortName = CFStringCreateWithFormat(NULL, NULL, CFSTR("com.MyApp.Thread-%d"), (int)getpid());
  CFMessagePortContext context = {0, mainThreadPort, CFRetain, CFRelease, NULL};
  Boolean shouldFreeInfo;
  CFMessagePortRef myPort = CFMessagePortCreateLocal(NULL, myPortName, &ProcessClientRequest, &context, &shouldFreeInfo);
  if (shouldFreeInfo) {
    printf("no port\n");
    return NULL;
  }
  CFRunLoopSourceRef rlSource = CFMessagePortCreateRunLoopSource(NULL, myPort, 0);
  if (!rlSource) {
    printf("no source\n");
    return NULL;
  }
  CFRunLoopAddSource(CFRunLoopGetCurrent(), rlSource, kCFRunLoopDefaultMode);
  CFRelease(myPort);
  CFRelease(rlSource);

  CFIndex stringLength = CFStringGetLength(myPortName);
  UInt8 *buffer = CFAllocatorAllocate(NULL, stringLength, 0);
  CFStringGetBytes(
      myPortName, CFRangeMake(0, stringLength), kCFStringEncodingASCII, 0, FALSE, buffer, stringLength, NULL);
  CFDataRef outData = CFDataCreate(NULL, buffer, stringLength);
  CFMessagePortSendRequest(mainThreadPort, kCheckinMessage, outData, 5, 0.0, NULL, NULL);
  CFRelease(outData);
  CFRelease(myPortName);
  CFRelease(mainThreadPort);
  CFAllocatorDeallocate(NULL, buffer);

  CFRunLoopRun();
  printf("thread ends\n");
  return NULL;
}

static void thread_gone(CFMessagePortRef port, void *info) {
  (void)info;
  printf("told of the end, valid %d, on the main thread %d\n", CFMessagePortIsValid(port),
         CFRunLoopGetCurrent() == CFRunLoopGetMain());
  CFRunLoopStop(CFRunLoopGetCurrent());
}

static OSStatus MySpawnThread(pthread_t *thread) {
  CFStringRef myPortName = CFStringCreateWithFormat(NULL, NULL, CFSTR("com.myapp.MainThread-%d"), (int)getpid());
  CFMessagePortContext context = {0, NULL, NULL, NULL, NULL};
  Boolean shouldFreeInfo;
  CFMessagePortRef myPort =
      CFMessagePortCreateLocal(NULL, myPortName, &MainThreadResponseHandler, &context, &shouldFreeInfo);
  if (myPort != NULL) {
    CFRunLoopSourceRef rlSource = CFMessagePortCreateRunLoopSource(NULL, myPort, 0);
    if (rlSource) {
      CFRunLoopAddSource(CFRunLoopGetCurrent(), rlSource, kCFRunLoopDefaultMode);
      CFRelease(myPort);
      CFRelease(rlSource);
    }
  }
  return pthread_create(thread, NULL, ServerThreadEntryPoint, (void *)myPortName);
}

void check_in(void) {
  pthread_t thread;
  if (MySpawnThread(&thread)) return;
  CFRunLoopRun();
  CFMessagePortSetInvalidationCallBack(active_thread, thread_gone);
  CFDataRef work = CFDataCreate(NULL, (const UInt8 *)"work", 4);
  for (int i = 0; i < 2; i++) {
    CFDataRef answer = NULL;
    SInt32 result = CFMessagePortSendRequest(active_thread, kWorkMessage, work, 5, 5, kCFRunLoopDefaultMode, &answer);
    printf("result %d, %ld bytes\n", (int)result, answer ? (long)CFDataGetLength(answer) : -1L);
    if (answer) CFRelease(answer);
  }
  CFRelease(work);
  CFMessagePortSendRequest(active_thread, kDoneMessage, NULL, 5, 0, NULL, NULL);
  pthread_join(thread, NULL);
  // The thread's port went with its loop.
  CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, false);
  CFRelease(active_thread);
}
#endif
