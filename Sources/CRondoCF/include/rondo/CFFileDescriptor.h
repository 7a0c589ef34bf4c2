/*
 * rondo/CFFileDescriptor.h - descriptors, whose owners are called once for each readiness
 *
 * Included by <rondo/CFRunLoop.h>.
 */
#ifndef RONDO_CFFILEDESCRIPTOR_H
#define RONDO_CFFILEDESCRIPTOR_H

#include "CFRunLoop.h"

RONDO_CF_BEGIN

typedef int CFFileDescriptorNativeDescriptor;

RONDO_CF_CONSTANTS(CFOptionFlags) {
  kCFFileDescriptorReadCallBack = 1UL << 0,
  kCFFileDescriptorWriteCallBack = 1UL << 1
};

/* Called once for what has been enabled, which then is disabled. */
typedef void (*CFFileDescriptorCallBack)(CFFileDescriptorRef descriptor, CFOptionFlags callBackTypes, void *info);

typedef struct {
  CFIndex version;
  void *info;
  void *(*retain)(void *info);
  void (*release)(void *info);
  CFStringRef (*copyDescription)(void *info);
} CFFileDescriptorContext;

RONDO_CF(CFTypeID, CFFileDescriptorGetTypeID, (void));
/* Nothing is enabled at first. NULL without a callout, or for a number that is no open descriptor. */
RONDO_CF(
    CFFileDescriptorRef, CFFileDescriptorCreate,
    (CFAllocatorRef allocator, CFFileDescriptorNativeDescriptor native, Boolean closeOnInvalidate,
     CFFileDescriptorCallBack callout, const CFFileDescriptorContext *context));
/* -1 once it is invalid. */
RONDO_CF(CFFileDescriptorNativeDescriptor, CFFileDescriptorGetNativeDescriptor, (CFFileDescriptorRef descriptor));
RONDO_CF(void, CFFileDescriptorGetContext, (CFFileDescriptorRef descriptor, CFFileDescriptorContext *context));
/* Each callback has to be enabled again after it was called. */
RONDO_CF(void, CFFileDescriptorEnableCallBacks, (CFFileDescriptorRef descriptor, CFOptionFlags callBackTypes));
RONDO_CF(void, CFFileDescriptorDisableCallBacks, (CFFileDescriptorRef descriptor, CFOptionFlags callBackTypes));
RONDO_CF(void, CFFileDescriptorInvalidate, (CFFileDescriptorRef descriptor));
RONDO_CF(Boolean, CFFileDescriptorIsValid, (CFFileDescriptorRef descriptor));
/* The source by which a loop serves the descriptor; the same one each time. In one loop at a time. NULL, and a message on
 * stderr, for what the kernel cannot wait for, such as a regular file. */
RONDO_CF(
    CFRunLoopSourceRef, CFFileDescriptorCreateRunLoopSource,
    (CFAllocatorRef allocator, CFFileDescriptorRef descriptor, CFIndex order));

RONDO_CF_END

#endif
