/*
 * rondo/CFMessagePort.h - requests between threads and processes, by name
 *
 * Included by <rondo/CFRunLoop.h>.
 */
#ifndef RONDO_CFMESSAGEPORT_H
#define RONDO_CFMESSAGEPORT_H

#include "CFRunLoop.h"

RONDO_CF_BEGIN

/* A dispatch_queue_t. */
#ifdef RONDO_CF_IMPLEMENTATION
#define RONDO_CF_QUEUE void *
#else
struct dispatch_queue_s;
#define RONDO_CF_QUEUE struct dispatch_queue_s *
#endif

RONDO_CF_CONSTANTS(SInt32) {
  kCFMessagePortSuccess = 0,
  kCFMessagePortSendTimeout = -1,
  kCFMessagePortReceiveTimeout = -2,
  kCFMessagePortIsInvalid = -3,
  kCFMessagePortTransportError = -4,
  kCFMessagePortBecameInvalidError = -5
};

typedef struct {
  CFIndex version;
  void *info;
  const void *(*retain)(const void *info);
  void (*release)(const void *info);
  CFStringRef (*copyDescription)(const void *info);
} CFMessagePortContext;

/* Replies to a message. The port releases the data that it returns; NULL is a reply without data. */
typedef CFDataRef (*CFMessagePortCallBack)(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info);
typedef void (*CFMessagePortInvalidationCallBack)(CFMessagePortRef port, void *info);

RONDO_CF(CFTypeID, CFMessagePortGetTypeID, (void));
/* The port of a name, which other processes of the same user find it by. The one of this process that has the name already,
 * if there is one, and then `*shouldFreeInfo` is true. A NULL name is for a port that no sender finds before
 * CFMessagePortSetName. NULL, and a message on stderr, if another process has the name, or if it is none: it has 1 to 255
 * bytes of UTF-8, none of them 0. */
RONDO_CF(
    CFMessagePortRef, CFMessagePortCreateLocal,
    (CFAllocatorRef allocator, CFStringRef name, CFMessagePortCallBack callout, CFMessagePortContext *context,
     Boolean *shouldFreeInfo));
/* NULL if no port has the name. */
RONDO_CF(CFMessagePortRef, CFMessagePortCreateRemote, (CFAllocatorRef allocator, CFStringRef name));
RONDO_CF(Boolean, CFMessagePortIsRemote, (CFMessagePortRef port));
/* NULL for a port without a name. */
RONDO_CF(CFStringRef, CFMessagePortGetName, (CFMessagePortRef port));
/* Gives a local port another name. Its senders' connections end; its modes stay. False if it cannot have the name. */
RONDO_CF(Boolean, CFMessagePortSetName, (CFMessagePortRef port, CFStringRef name));
RONDO_CF(void, CFMessagePortGetContext, (CFMessagePortRef port, CFMessagePortContext *context));
RONDO_CF(void, CFMessagePortInvalidate, (CFMessagePortRef port));
/* Of a remote port, also whether the other end is there. */
RONDO_CF(Boolean, CFMessagePortIsValid, (CFMessagePortRef port));
RONDO_CF(CFMessagePortInvalidationCallBack, CFMessagePortGetInvalidationCallBack, (CFMessagePortRef port));
/* Called once when the port becomes invalid; in this call if it is. When the other end of a remote port ends, the loop
 * of the thread that has set the function calls it, in a common mode. */
RONDO_CF(
    void, CFMessagePortSetInvalidationCallBack,
    (CFMessagePortRef port, CFMessagePortInvalidationCallBack callout));
/* With a `replyMode`, runs the thread's loop in that mode until the answer is there. Without one, wants no answer. */
RONDO_CF(
    SInt32, CFMessagePortSendRequest,
    (CFMessagePortRef remote, SInt32 msgid, CFDataRef data, CFTimeInterval sendTimeout, CFTimeInterval rcvTimeout,
     CFStringRef replyMode, CFDataRef *returnData));
/* The source by which a loop receives a local port's messages; the same one each time. */
RONDO_CF(
    CFRunLoopSourceRef, CFMessagePortCreateRunLoopSource,
    (CFAllocatorRef allocator, CFMessagePortRef local, CFIndex order));
/* Has a dispatch queue receive a local port's messages instead of a loop; NULL ends that. */
RONDO_CF(void, CFMessagePortSetDispatchQueue, (CFMessagePortRef local, RONDO_CF_QUEUE queue));

RONDO_CF_END

#endif
