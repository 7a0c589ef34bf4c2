/*
 * rondo/CFBase.h - the few types of CoreFoundation that its run loop needs
 *
 * Included by <rondo/CFRunLoop.h>. Objects are counted as CoreFoundation counts them: what a function with Create or Copy
 * in its name returns is yours to CFRelease, what one with Get returns is not. Objects are
 * made by malloc, with any allocator.
 */
#ifndef RONDO_CFBASE_H
#define RONDO_CFBASE_H

#if defined(__COREFOUNDATION_CFBASE__)
#error "A file includes either <CoreFoundation/CoreFoundation.h> or <rondo/CFRunLoop.h>: they declare the same names."
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A function or a constant: its name in C and Swift is CoreFoundation's, its symbol has Rondo before it. So a process can
 * have the real CoreFoundation as well. */
#ifdef RONDO_CF_IMPLEMENTATION
#define RONDO_CF(result, name, parameters) extern result Rondo##name parameters
#else
#define RONDO_CF(result, name, parameters) extern result name parameters __asm__("Rondo" #name)
#endif

#ifdef __has_feature
#define RONDO_CF_HAS_FEATURE(feature) __has_feature(feature)
#else
#define RONDO_CF_HAS_FEATURE(feature) 0
#endif

/* Enumerations of a fixed type, where C has them as an extension. */
#if defined(__clang__) && !defined(__cplusplus)
#define RONDO_CF_FIXED_ENUMS 1
#else
#define RONDO_CF_FIXED_ENUMS 0
#endif

#if RONDO_CF_FIXED_ENUMS
#define RONDO_CF_ENUM(type, name) \
  enum __attribute__((enum_extensibility(open))) name : type; \
  typedef enum name name; \
  enum name : type
#define RONDO_CF_OPTIONS(type, name) \
  enum __attribute__((flag_enum, enum_extensibility(open))) name : type; \
  typedef enum name name; \
  enum name : type
#define RONDO_CF_CONSTANTS(type) enum : type
#else
#define RONDO_CF_ENUM(type, name) \
  typedef type name; \
  enum
#define RONDO_CF_OPTIONS(type, name) RONDO_CF_ENUM(type, name)
#define RONDO_CF_CONSTANTS(type) enum
#endif

/* Has Swift see the objects as classes, and count references to them by itself. */
#if RONDO_CF_HAS_FEATURE(objc_bridge_id_on_typedefs) && !defined(RONDO_CF_IMPLEMENTATION)
#define RONDO_CF_CLASS __attribute__((objc_bridge(id)))
#define RONDO_CF_MUTABLE_CLASS __attribute__((objc_bridge_mutable(id)))
#define RONDO_CF_AUDIT_BEGIN _Pragma("clang arc_cf_code_audited begin")
#define RONDO_CF_AUDIT_END _Pragma("clang arc_cf_code_audited end")
#else
#define RONDO_CF_CLASS
#define RONDO_CF_MUTABLE_CLASS
#define RONDO_CF_AUDIT_BEGIN
#define RONDO_CF_AUDIT_END
#endif

/* Around the declarations of a header. */
#if defined(__cplusplus)
#define RONDO_CF_BEGIN extern "C" { RONDO_CF_AUDIT_BEGIN
#define RONDO_CF_END RONDO_CF_AUDIT_END }
#elif RONDO_CF_FIXED_ENUMS
#define RONDO_CF_BEGIN \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpedantic\"") RONDO_CF_AUDIT_BEGIN
#define RONDO_CF_END RONDO_CF_AUDIT_END _Pragma("clang diagnostic pop")
#else
#define RONDO_CF_BEGIN
#define RONDO_CF_END
#endif

RONDO_CF_BEGIN

/* ------------------------------------------------------------------------------------------------------------ Numbers */

typedef bool Boolean;
typedef uint8_t UInt8;
typedef int8_t SInt8;
typedef uint16_t UInt16;
typedef int16_t SInt16;
typedef uint32_t UInt32;
typedef int32_t SInt32;
typedef uint64_t UInt64;
typedef int64_t SInt64;
typedef float Float32;
typedef double Float64;
typedef SInt16 OSErr;
typedef SInt32 OSStatus;
typedef uint16_t UniChar;
typedef unsigned long CFTypeID;
typedef unsigned long CFOptionFlags;
typedef unsigned long CFHashCode;
typedef signed long CFIndex;
/* Seconds. */
typedef double CFTimeInterval;
/* Seconds since 1 January 2001, 00:00 UTC. */
typedef CFTimeInterval CFAbsoluteTime;

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

typedef struct {
  CFIndex location;
  CFIndex length;
} CFRange;

static inline CFRange CFRangeMake(CFIndex location, CFIndex length) {
  CFRange range;
  range.location = location;
  range.length = length;
  return range;
}

RONDO_CF_ENUM(CFIndex, CFComparisonResult) {
  kCFCompareLessThan = -1L,
  kCFCompareEqualTo = 0,
  kCFCompareGreaterThan = 1
};

/* ------------------------------------------------------------------------------------------------------------- Objects */

#ifdef RONDO_CF_IMPLEMENTATION
/* The implementation sees what is behind the names: pointers. */
#define CFTypeRef const void *
#define CFStringRef const void *
#define CFDataRef const void *
#define CFMutableDataRef void *
#define CFArrayRef const void *
#define CFMutableArrayRef void *
#define CFDictionaryRef const void *
#define CFAllocatorRef const void *
#define CFRunLoopRef void *
#define CFRunLoopSourceRef void *
#define CFRunLoopObserverRef void *
#define CFRunLoopTimerRef void *
#define CFMessagePortRef void *
#define CFSocketRef void *
#define CFFileDescriptorRef void *
#define RONDO_CF_BLOCK(result, name, parameters) void *name
#else
typedef const RONDO_CF_CLASS void *CFTypeRef;
typedef const struct RONDO_CF_CLASS __CFString *CFStringRef;
typedef const struct RONDO_CF_CLASS __CFData *CFDataRef;
typedef struct RONDO_CF_MUTABLE_CLASS __CFData *CFMutableDataRef;
typedef const struct RONDO_CF_CLASS __CFArray *CFArrayRef;
typedef struct RONDO_CF_MUTABLE_CLASS __CFArray *CFMutableArrayRef;
/* There is no dictionary: a function that asks for one takes NULL. */
typedef const struct RONDO_CF_CLASS __CFDictionary *CFDictionaryRef;
typedef const struct RONDO_CF_CLASS __CFAllocator *CFAllocatorRef;
typedef struct RONDO_CF_MUTABLE_CLASS __CFRunLoop *CFRunLoopRef;
typedef struct RONDO_CF_MUTABLE_CLASS __CFRunLoopSource *CFRunLoopSourceRef;
typedef struct RONDO_CF_MUTABLE_CLASS __CFRunLoopObserver *CFRunLoopObserverRef;
typedef struct RONDO_CF_MUTABLE_CLASS __CFRunLoopTimer *CFRunLoopTimerRef;
typedef struct RONDO_CF_MUTABLE_CLASS __CFMessagePort *CFMessagePortRef;
typedef struct RONDO_CF_MUTABLE_CLASS __CFSocket *CFSocketRef;
typedef struct RONDO_CF_MUTABLE_CLASS __CFFileDescriptor *CFFileDescriptorRef;
#define RONDO_CF_BLOCK(result, name, parameters) result(^name) parameters
#endif

#if defined(__BLOCKS__) || defined(RONDO_CF_IMPLEMENTATION)
#define RONDO_CF_HAS_BLOCKS 1
#else
#define RONDO_CF_HAS_BLOCKS 0
#endif

/* One more reference, and the same pointer. */
RONDO_CF(CFTypeRef, CFRetain, (CFTypeRef object));
/* One reference less. The last one ends the object. */
RONDO_CF(void, CFRelease, (CFTypeRef object));
/* How many references there are, for tests. */
RONDO_CF(CFIndex, CFGetRetainCount, (CFTypeRef object));
RONDO_CF(CFTypeID, CFGetTypeID, (CFTypeRef object));
/* Strings and data by content, sources by their contexts, everything else by identity. */
RONDO_CF(Boolean, CFEqual, (CFTypeRef one, CFTypeRef other));
RONDO_CF(CFHashCode, CFHash, (CFTypeRef object));
/* A description of the object, for people. Calls copyDescription of its context. */
RONDO_CF(CFStringRef, CFCopyDescription, (CFTypeRef object));
/* Writes the description to stderr. */
RONDO_CF(void, CFShow, (CFTypeRef object));

/* ---------------------------------------------------------------------------------------------------------- Allocators */

#ifndef RONDO_CF_IMPLEMENTATION
/* NULL: malloc. */
RONDO_CF(const CFAllocatorRef, kCFAllocatorDefault, );
RONDO_CF(const CFAllocatorRef, kCFAllocatorSystemDefault, );
RONDO_CF(const CFAllocatorRef, kCFAllocatorMalloc, );
/* Allocates nothing and frees nothing. */
RONDO_CF(const CFAllocatorRef, kCFAllocatorNull, );
#endif

/* NULL. */
RONDO_CF(CFAllocatorRef, CFAllocatorGetDefault, (void));
/* Bytes of malloc; NULL for a size of 0 or less. `hint` is not used. */
RONDO_CF(void *, CFAllocatorAllocate, (CFAllocatorRef allocator, CFIndex size, CFOptionFlags hint));
/* Frees the memory for a size of 0. */
RONDO_CF(
    void *, CFAllocatorReallocate, (CFAllocatorRef allocator, void *memory, CFIndex size, CFOptionFlags hint));
RONDO_CF(void, CFAllocatorDeallocate, (CFAllocatorRef allocator, void *memory));
/* NULL, the default one, for every object. */
RONDO_CF(CFAllocatorRef, CFGetAllocator, (CFTypeRef object));

/* --------------------------------------------------------------------------------------------------------------- Dates */

/* The wall clock. */
RONDO_CF(CFAbsoluteTime, CFAbsoluteTimeGetCurrent, (void));
/* 1 January 2001, in seconds since 1970. */
#define kCFAbsoluteTimeIntervalSince1970 978307200.0

RONDO_CF_END

#endif
