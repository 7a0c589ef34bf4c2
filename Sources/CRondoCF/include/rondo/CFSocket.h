/*
 * rondo/CFSocket.h - sockets that a run loop serves
 *
 * Included by <rondo/CFRunLoop.h>.
 */
#ifndef RONDO_CFSOCKET_H
#define RONDO_CFSOCKET_H

#include "CFRunLoop.h"

RONDO_CF_BEGIN

typedef int CFSocketNativeHandle;

RONDO_CF_ENUM(CFIndex, CFSocketError) {
  kCFSocketSuccess = 0,
  kCFSocketError = -1L,
  kCFSocketTimeout = -2L
};

typedef struct {
  SInt32 protocolFamily;
  SInt32 socketType;
  SInt32 protocol;
  /* A struct sockaddr. */
  CFDataRef address;
} CFSocketSignature;

/* The events that a socket calls out for: one of the first three, and the end of connecting, and room to write. */
RONDO_CF_OPTIONS(CFOptionFlags, CFSocketCallBackType) {
  kCFSocketNoCallBack = 0,
  kCFSocketReadCallBack = 1,
  kCFSocketAcceptCallBack = 2,
  kCFSocketDataCallBack = 3,
  kCFSocketConnectCallBack = 4,
  kCFSocketWriteCallBack = 8
};

RONDO_CF_CONSTANTS(CFOptionFlags) {
  kCFSocketAutomaticallyReenableReadCallBack = 1,
  kCFSocketAutomaticallyReenableAcceptCallBack = 2,
  kCFSocketAutomaticallyReenableDataCallBack = 3,
  kCFSocketAutomaticallyReenableWriteCallBack = 8,
  kCFSocketLeaveErrors = 64,
  kCFSocketCloseOnInvalidate = 128
};

typedef struct {
  CFIndex version;
  void *info;
  const void *(*retain)(const void *info);
  void (*release)(const void *info);
  CFStringRef (*copyDescription)(const void *info);
} CFSocketContext;

/* `data` is for accept a pointer to the descriptor, for data a CFDataRef, empty at the end, which invalidates the socket;
 * for connect NULL, or a pointer to an SInt32 with the errno. `address` is for accept and data the other end's. */
typedef void (*CFSocketCallBack)(
    CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info);

RONDO_CF(CFTypeID, CFSocketGetTypeID, (void));
/* The socket of a descriptor: the same one as long as that is valid. It closes the descriptor when it is invalidated. */
RONDO_CF(
    CFSocketRef, CFSocketCreateWithNative,
    (CFAllocatorRef allocator, CFSocketNativeHandle descriptor, CFOptionFlags callBackTypes, CFSocketCallBack callout,
     const CFSocketContext *context));
RONDO_CF(
    CFSocketRef, CFSocketCreate,
    (CFAllocatorRef allocator, SInt32 protocolFamily, SInt32 socketType, SInt32 protocol, CFOptionFlags callBackTypes,
     CFSocketCallBack callout, const CFSocketContext *context));
/* Makes a socket and gives it the signature's address. NULL if that fails. */
RONDO_CF(
    CFSocketRef, CFSocketCreateWithSocketSignature,
    (CFAllocatorRef allocator, const CFSocketSignature *signature, CFOptionFlags callBackTypes, CFSocketCallBack callout,
     const CFSocketContext *context));
/* Makes a socket and connects it to the signature's address. NULL if that fails. */
RONDO_CF(
    CFSocketRef, CFSocketCreateConnectedToSocketSignature,
    (CFAllocatorRef allocator, const CFSocketSignature *signature, CFOptionFlags callBackTypes, CFSocketCallBack callout,
     const CFSocketContext *context, CFTimeInterval timeout));
/* Binds the socket to a struct sockaddr, and has a stream listen. Says on stderr why it cannot. */
RONDO_CF(CFSocketError, CFSocketSetAddress, (CFSocketRef socket, CFDataRef address));
/* Connects, and blocks the thread up to `timeout` seconds. With a negative timeout it returns immediately, and the loop calls
 * out for kCFSocketConnectCallBack when the connection is made or has failed. The socket does not block afterwards. */
RONDO_CF(CFSocketError, CFSocketConnectToAddress, (CFSocketRef socket, CFDataRef address, CFTimeInterval timeout));
/* NULL without one. */
RONDO_CF(CFDataRef, CFSocketCopyAddress, (CFSocketRef socket));
RONDO_CF(CFDataRef, CFSocketCopyPeerAddress, (CFSocketRef socket));
/* Sends all of the data, and blocks the thread up to `timeout` seconds for it; without limit if that is 0 or less and the
 * socket blocks. NULL for `address` if the socket is connected. */
RONDO_CF(
    CFSocketError, CFSocketSendData,
    (CFSocketRef socket, CFDataRef address, CFDataRef data, CFTimeInterval timeout));
/* The source by which a loop serves the socket; the same one each time. In one loop at a time. A socket that was bound or
 * connected by other calls than these is looked at again when the source joins a mode and when callbacks are enabled. */
RONDO_CF(CFRunLoopSourceRef, CFSocketCreateRunLoopSource, (CFAllocatorRef allocator, CFSocketRef socket, CFIndex order));
RONDO_CF(void, CFSocketInvalidate, (CFSocketRef socket));
RONDO_CF(Boolean, CFSocketIsValid, (CFSocketRef socket));
RONDO_CF(CFSocketNativeHandle, CFSocketGetNative, (CFSocketRef socket));
RONDO_CF(void, CFSocketGetContext, (CFSocketRef socket, CFSocketContext *context));
RONDO_CF(CFOptionFlags, CFSocketGetSocketFlags, (CFSocketRef socket));
RONDO_CF(void, CFSocketSetSocketFlags, (CFSocketRef socket, CFOptionFlags flags));
RONDO_CF(void, CFSocketEnableCallBacks, (CFSocketRef socket, CFOptionFlags callBackTypes));
RONDO_CF(void, CFSocketDisableCallBacks, (CFSocketRef socket, CFOptionFlags callBackTypes));

RONDO_CF_END

#endif
