/*
 * rondo/CFRunLoop.h - CFRunLoop's own names on Rondo's run loop
 *
 * C that was written for CFRunLoop compiles with this include instead of <CoreFoundation/CoreFoundation.h>, and does the
 * same. In Swift the same names come with `import RondoCoreFoundation`.
 *
 *     #include <rondo/CFRunLoop.h>
 *     #include <stdio.h>
 *
 *     static void tick(CFRunLoopTimerRef timer, void *info) {
 *       (void)timer;
 *       puts(info);
 *       CFRunLoopStop(CFRunLoopGetCurrent());
 *     }
 *
 *     int main(void) {
 *       CFRunLoopTimerContext context = {0, "tick", NULL, NULL, NULL};
 *       CFRunLoopTimerRef timer =
 *           CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + 0.1, 0, 0, 0, tick, &context);
 *       CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopCommonModes);
 *       CFRelease(timer);
 *       CFRunLoopRun();
 *       return 0;
 *     }
 *
 * A thread's loop may be used from any thread, and is run by its own. After its thread has ended a loop that was retained
 * does nothing. Everything is as in CFRunLoop, except for what the article Porting of the documentation lists:
 * nothing that was removed is called again, an empty mode never sleeps, tolerances work, a whole batch of events is served
 * in one turn. A NULL for a loop or an item is answered with nothing, 0 or NULL.
 */
#ifndef RONDO_CFRUNLOOP_H
#define RONDO_CFRUNLOOP_H

#include "CFValues.h"

RONDO_CF_BEGIN

/* A set of items that are called while a run is in that mode. A loop has room for 64. */
typedef CFStringRef CFRunLoopMode;

/* Why a run returned; the first that holds, of handled source, timed out, stopped, finished. */
RONDO_CF_ENUM(SInt32, CFRunLoopRunResult) {
  kCFRunLoopRunFinished = 1,
  kCFRunLoopRunStopped = 2,
  kCFRunLoopRunTimedOut = 3,
  kCFRunLoopRunHandledSource = 4
};

/* The moments of a turn. */
RONDO_CF_OPTIONS(CFOptionFlags, CFRunLoopActivity) {
  kCFRunLoopEntry = (1UL << 0),
  kCFRunLoopBeforeTimers = (1UL << 1),
  kCFRunLoopBeforeSources = (1UL << 2),
  kCFRunLoopBeforeWaiting = (1UL << 5),
  kCFRunLoopAfterWaiting = (1UL << 6),
  kCFRunLoopExit = (1UL << 7),
  kCFRunLoopAllActivities = 0x0FFFFFFFU
};

#ifndef RONDO_CF_IMPLEMENTATION
/* The mode of ordinary work. */
RONDO_CF(const CFRunLoopMode, kCFRunLoopDefaultMode, );
/* All common modes: items may be added to it; it cannot be run. */
RONDO_CF(const CFRunLoopMode, kCFRunLoopCommonModes, );
#endif

/* --------------------------------------------------------------------------------------------------------------- Loops */

RONDO_CF(CFTypeID, CFRunLoopGetTypeID, (void));
/* The calling thread's loop, made when it is first asked for, and gone with the thread. */
RONDO_CF(CFRunLoopRef, CFRunLoopGetCurrent, (void));
RONDO_CF(CFRunLoopRef, CFRunLoopGetMain, (void));
/* The mode of the innermost run; NULL if the loop does not run. */
RONDO_CF(CFRunLoopMode, CFRunLoopCopyCurrentMode, (CFRunLoopRef loop));
/* Every mode that something was added to, as strings. */
RONDO_CF(CFArrayRef, CFRunLoopCopyAllModes, (CFRunLoopRef loop));
/* Makes a mode common for good: what is in the common modes joins it. */
RONDO_CF(void, CFRunLoopAddCommonMode, (CFRunLoopRef loop, CFRunLoopMode mode));
/* 0 if the mode has no timer. */
RONDO_CF(CFAbsoluteTime, CFRunLoopGetNextTimerFireDate, (CFRunLoopRef loop, CFRunLoopMode mode));

/* Runs the calling thread's loop in the default mode until it is stopped, or nothing is left in it. */
RONDO_CF(void, CFRunLoopRun, (void));
/* Runs it in a mode for so many seconds; 0 is one turn that only looks. */
RONDO_CF(
    CFRunLoopRunResult, CFRunLoopRunInMode,
    (CFRunLoopMode mode, CFTimeInterval seconds, Boolean returnAfterSourceHandled));
RONDO_CF(Boolean, CFRunLoopIsWaiting, (CFRunLoopRef loop));
/* Has a sleeping loop go round once more. A loop that does not run ignores it. Not in a signal handler. */
RONDO_CF(void, CFRunLoopWakeUp, (CFRunLoopRef loop));
/* Ends the innermost run. A loop that does not run ignores it. Not in a signal handler. */
RONDO_CF(void, CFRunLoopStop, (CFRunLoopRef loop));

#if RONDO_CF_HAS_BLOCKS
/* Runs a block once, in a mode or one of an array of modes. Does not wake the loop: see CFRunLoopWakeUp. */
RONDO_CF(
    void, CFRunLoopPerformBlock,
    (CFRunLoopRef loop, CFTypeRef mode, RONDO_CF_BLOCK(void, block, (void))));
#endif

/* ------------------------------------------------------------------------------------------------------------- Sources */

RONDO_CF(Boolean, CFRunLoopContainsSource, (CFRunLoopRef loop, CFRunLoopSourceRef source, CFRunLoopMode mode));
/* A source may be in several loops. One equal to a source that is in the mode already is not added. */
RONDO_CF(void, CFRunLoopAddSource, (CFRunLoopRef loop, CFRunLoopSourceRef source, CFRunLoopMode mode));
RONDO_CF(void, CFRunLoopRemoveSource, (CFRunLoopRef loop, CFRunLoopSourceRef source, CFRunLoopMode mode));

/* `retain` is called when the source is made, `release` when it has ended; all the functions may be NULL. */
typedef struct {
  CFIndex version;
  void *info;
  const void *(*retain)(const void *info);
  void (*release)(const void *info);
  CFStringRef (*copyDescription)(const void *info);
  Boolean (*equal)(const void *info1, const void *info2);
  CFHashCode (*hash)(const void *info);
  /* Once for each mode that is joined, with no lock held. */
  void (*schedule)(void *info, CFRunLoopRef loop, CFRunLoopMode mode);
  /* Once for each mode that is left, with no lock held. */
  void (*cancel)(void *info, CFRunLoopRef loop, CFRunLoopMode mode);
  void (*perform)(void *info);
} CFRunLoopSourceContext;

/* A descriptor, as on Linux. */
typedef int __CFPort;

/* A source of version 1: one that performs while its descriptor is readable. The descriptor is closed after the source is
 * invalidated. The counter of an eventfd or a timerfd is read before each call; other bytes are left to `perform`. */
typedef struct {
  CFIndex version;
  void *info;
  const void *(*retain)(const void *info);
  void (*release)(const void *info);
  CFStringRef (*copyDescription)(const void *info);
  Boolean (*equal)(const void *info1, const void *info2);
  CFHashCode (*hash)(const void *info);
  /* Once for each loop that is joined. */
  __CFPort (*getPort)(void *info);
  void (*perform)(void *info);
} CFRunLoopSourceContext1;

RONDO_CF(CFTypeID, CFRunLoopSourceGetTypeID, (void));
/* The context is of version 0, or a CFRunLoopSourceContext1 of version 1. NULL for another version. */
RONDO_CF(
    CFRunLoopSourceRef, CFRunLoopSourceCreate,
    (CFAllocatorRef allocator, CFIndex order, CFRunLoopSourceContext *context));
RONDO_CF(CFIndex, CFRunLoopSourceGetOrder, (CFRunLoopSourceRef source));
RONDO_CF(void, CFRunLoopSourceInvalidate, (CFRunLoopSourceRef source));
RONDO_CF(Boolean, CFRunLoopSourceIsValid, (CFRunLoopSourceRef source));
/* Writes a context of the source's version: give room for it. */
RONDO_CF(void, CFRunLoopSourceGetContext, (CFRunLoopSourceRef source, CFRunLoopSourceContext *context));
/* Has a source of version 0 performed once. Does not wake the loop: see CFRunLoopWakeUp. */
RONDO_CF(void, CFRunLoopSourceSignal, (CFRunLoopSourceRef source));

/* ----------------------------------------------------------------------------------------------------------- Observers */

RONDO_CF(Boolean, CFRunLoopContainsObserver, (CFRunLoopRef loop, CFRunLoopObserverRef observer, CFRunLoopMode mode));
RONDO_CF(void, CFRunLoopAddObserver, (CFRunLoopRef loop, CFRunLoopObserverRef observer, CFRunLoopMode mode));
RONDO_CF(void, CFRunLoopRemoveObserver, (CFRunLoopRef loop, CFRunLoopObserverRef observer, CFRunLoopMode mode));

/* `retain` is called when the observer is made, `release` when it is invalidated. */
typedef struct {
  CFIndex version;
  void *info;
  const void *(*retain)(const void *info);
  void (*release)(const void *info);
  CFStringRef (*copyDescription)(const void *info);
} CFRunLoopObserverContext;

typedef void (*CFRunLoopObserverCallBack)(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info);

RONDO_CF(CFTypeID, CFRunLoopObserverGetTypeID, (void));
RONDO_CF(
    CFRunLoopObserverRef, CFRunLoopObserverCreate,
    (CFAllocatorRef allocator, CFOptionFlags activities, Boolean repeats, CFIndex order,
     CFRunLoopObserverCallBack callout, CFRunLoopObserverContext *context));
#if RONDO_CF_HAS_BLOCKS
RONDO_CF(
    CFRunLoopObserverRef, CFRunLoopObserverCreateWithHandler,
    (CFAllocatorRef allocator, CFOptionFlags activities, Boolean repeats, CFIndex order,
     RONDO_CF_BLOCK(void, block, (CFRunLoopObserverRef observer, CFRunLoopActivity activity))));
#endif
RONDO_CF(CFOptionFlags, CFRunLoopObserverGetActivities, (CFRunLoopObserverRef observer));
RONDO_CF(Boolean, CFRunLoopObserverDoesRepeat, (CFRunLoopObserverRef observer));
RONDO_CF(CFIndex, CFRunLoopObserverGetOrder, (CFRunLoopObserverRef observer));
RONDO_CF(void, CFRunLoopObserverInvalidate, (CFRunLoopObserverRef observer));
RONDO_CF(Boolean, CFRunLoopObserverIsValid, (CFRunLoopObserverRef observer));
RONDO_CF(void, CFRunLoopObserverGetContext, (CFRunLoopObserverRef observer, CFRunLoopObserverContext *context));

/* -------------------------------------------------------------------------------------------------------------- Timers */

RONDO_CF(Boolean, CFRunLoopContainsTimer, (CFRunLoopRef loop, CFRunLoopTimerRef timer, CFRunLoopMode mode));
RONDO_CF(void, CFRunLoopAddTimer, (CFRunLoopRef loop, CFRunLoopTimerRef timer, CFRunLoopMode mode));
RONDO_CF(void, CFRunLoopRemoveTimer, (CFRunLoopRef loop, CFRunLoopTimerRef timer, CFRunLoopMode mode));

/* `retain` is called when the timer is made and before each callout, `release` after each and on invalidation. */
typedef struct {
  CFIndex version;
  void *info;
  const void *(*retain)(const void *info);
  void (*release)(const void *info);
  CFStringRef (*copyDescription)(const void *info);
} CFRunLoopTimerContext;

typedef void (*CFRunLoopTimerCallBack)(CFRunLoopTimerRef timer, void *info);

RONDO_CF(CFTypeID, CFRunLoopTimerGetTypeID, (void));
/* Fires at a date, and if the interval is above 0 on the grid that begins there. `flags` and `order` are not used. */
RONDO_CF(
    CFRunLoopTimerRef, CFRunLoopTimerCreate,
    (CFAllocatorRef allocator, CFAbsoluteTime fireDate, CFTimeInterval interval, CFOptionFlags flags, CFIndex order,
     CFRunLoopTimerCallBack callout, CFRunLoopTimerContext *context));
#if RONDO_CF_HAS_BLOCKS
RONDO_CF(
    CFRunLoopTimerRef, CFRunLoopTimerCreateWithHandler,
    (CFAllocatorRef allocator, CFAbsoluteTime fireDate, CFTimeInterval interval, CFOptionFlags flags, CFIndex order,
     RONDO_CF_BLOCK(void, block, (CFRunLoopTimerRef timer))));
#endif
/* 0 for an invalid timer. In its callout, the date it fires for. */
RONDO_CF(CFAbsoluteTime, CFRunLoopTimerGetNextFireDate, (CFRunLoopTimerRef timer));
RONDO_CF(void, CFRunLoopTimerSetNextFireDate, (CFRunLoopTimerRef timer, CFAbsoluteTime fireDate));
RONDO_CF(CFTimeInterval, CFRunLoopTimerGetInterval, (CFRunLoopTimerRef timer));
RONDO_CF(Boolean, CFRunLoopTimerDoesRepeat, (CFRunLoopTimerRef timer));
RONDO_CF(CFIndex, CFRunLoopTimerGetOrder, (CFRunLoopTimerRef timer));
RONDO_CF(void, CFRunLoopTimerInvalidate, (CFRunLoopTimerRef timer));
RONDO_CF(Boolean, CFRunLoopTimerIsValid, (CFRunLoopTimerRef timer));
RONDO_CF(void, CFRunLoopTimerGetContext, (CFRunLoopTimerRef timer, CFRunLoopTimerContext *context));
/* How many seconds later than its date it may fire; up to half the interval of a repeating timer. */
RONDO_CF(CFTimeInterval, CFRunLoopTimerGetTolerance, (CFRunLoopTimerRef timer));
RONDO_CF(void, CFRunLoopTimerSetTolerance, (CFRunLoopTimerRef timer, CFTimeInterval tolerance));

RONDO_CF_END

#include "CFFileDescriptor.h"
#include "CFMessagePort.h"
#include "CFSocket.h"

#endif
