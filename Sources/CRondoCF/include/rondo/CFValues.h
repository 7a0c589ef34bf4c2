/*
 * rondo/CFValues.h - strings, data and arrays, as far as users of a run loop need them
 *
 * Included by <rondo/CFRunLoop.h>.
 */
#ifndef RONDO_CFVALUES_H
#define RONDO_CFVALUES_H

#include "CFBase.h"

#include <stdarg.h>

RONDO_CF_BEGIN

/* ------------------------------------------------------------------------------------------------------------- Strings */

typedef UInt32 CFStringEncoding;
RONDO_CF_ENUM(CFStringEncoding, CFStringBuiltInEncodings) {
  kCFStringEncodingISOLatin1 = 0x0201,
  kCFStringEncodingASCII = 0x0600,
  kCFStringEncodingUnicode = 0x0100,
  kCFStringEncodingUTF8 = 0x08000100,
  kCFStringEncodingUTF16 = 0x0100,
  kCFStringEncodingUTF16BE = 0x10000100,
  kCFStringEncodingUTF16LE = 0x14000100,
  /* Only its characters of ASCII. */
  kCFStringEncodingMacRoman = 0
};

RONDO_CF_CONSTANTS(CFOptionFlags) {
  kCFCompareCaseInsensitive = 1
};

/* A string that lasts as long as the process: the same for the same characters. */
RONDO_CF(CFStringRef, CFStringMakeConstant, (const char *characters));
#define CFSTR(literal) CFStringMakeConstant("" literal "")

RONDO_CF(CFTypeID, CFStringGetTypeID, (void));
/* NULL if the bytes are not of the encoding. */
RONDO_CF(
    CFStringRef, CFStringCreateWithCString,
    (CFAllocatorRef allocator, const char *characters, CFStringEncoding encoding));
/* NULL if the bytes are not of the encoding. A byte order mark is read if the representation is external. */
RONDO_CF(
    CFStringRef, CFStringCreateWithBytes,
    (CFAllocatorRef allocator, const UInt8 *bytes, CFIndex count, CFStringEncoding encoding,
     Boolean isExternalRepresentation));
RONDO_CF(
    CFStringRef, CFStringCreateWithCharacters,
    (CFAllocatorRef allocator, const UniChar *characters, CFIndex count));
/* Copies the characters, and frees them: kCFAllocatorNull leaves them. */
RONDO_CF(
    CFStringRef, CFStringCreateWithCStringNoCopy,
    (CFAllocatorRef allocator, const char *characters, CFStringEncoding encoding, CFAllocatorRef contentsDeallocator));
/* As printf(3), in UTF-8, and %@ for an object, %C and %S for characters of UTF-16. `options` is NULL. */
RONDO_CF(
    CFStringRef, CFStringCreateWithFormat,
    (CFAllocatorRef allocator, CFDictionaryRef options, CFStringRef format, ...));
RONDO_CF(
    CFStringRef, CFStringCreateWithFormatAndArguments,
    (CFAllocatorRef allocator, CFDictionaryRef options, CFStringRef format, va_list arguments));
RONDO_CF(CFStringRef, CFStringCreateCopy, (CFAllocatorRef allocator, CFStringRef string));
/* In units of UTF-16. */
RONDO_CF(CFIndex, CFStringGetLength, (CFStringRef string));
/* How many bytes so many units of UTF-16 need at most. */
RONDO_CF(CFIndex, CFStringGetMaximumSizeForEncoding, (CFIndex length, CFStringEncoding encoding));
/* False if they do not fit with the zero at their end, or are not of the encoding. */
RONDO_CF(
    Boolean, CFStringGetCString,
    (CFStringRef string, char *characters, CFIndex size, CFStringEncoding encoding));
/* Good as long as the string; NULL if the characters are not of the encoding. */
RONDO_CF(const char *, CFStringGetCStringPtr, (CFStringRef string, CFStringEncoding encoding));

/* Writes as much of a range as fits into `size` bytes. A NULL `buffer` only counts the bytes. `lossByte` replaces characters
 * that are not of the encoding; with 0 the conversion ends there. Returns how many units of UTF-16 were converted. */
RONDO_CF(
    CFIndex, CFStringGetBytes,
    (CFStringRef string, CFRange range, CFStringEncoding encoding, UInt8 lossByte, Boolean isExternalRepresentation,
     UInt8 *buffer, CFIndex size, CFIndex *usedSize));
/* The units of UTF-16 in a range, which has to be within the string. */
RONDO_CF(void, CFStringGetCharacters, (CFStringRef string, CFRange range, UniChar *buffer));
RONDO_CF(UniChar, CFStringGetCharacterAtIndex, (CFStringRef string, CFIndex index));
/* By the units of UTF-16. Of the options, kCFCompareCaseInsensitive counts, for letters of ASCII. */
RONDO_CF(CFComparisonResult, CFStringCompare, (CFStringRef one, CFStringRef other, CFOptionFlags options));
/* UTF-8. */
RONDO_CF(CFStringEncoding, CFStringGetSystemEncoding, (void));

/* --------------------------------------------------------------------------------------------------------------- Data */

RONDO_CF(CFTypeID, CFDataGetTypeID, (void));
RONDO_CF(CFDataRef, CFDataCreate, (CFAllocatorRef allocator, const UInt8 *bytes, CFIndex length));
RONDO_CF(CFDataRef, CFDataCreateCopy, (CFAllocatorRef allocator, CFDataRef data));
RONDO_CF(CFIndex, CFDataGetLength, (CFDataRef data));
/* Good as long as the data. */
RONDO_CF(const UInt8 *, CFDataGetBytePtr, (CFDataRef data));
/* Copies the bytes, and frees them: kCFAllocatorNull leaves them. */
RONDO_CF(
    CFDataRef, CFDataCreateWithBytesNoCopy,
    (CFAllocatorRef allocator, const UInt8 *bytes, CFIndex length, CFAllocatorRef bytesDeallocator));
RONDO_CF(void, CFDataGetBytes, (CFDataRef data, CFRange range, UInt8 *buffer));

/* Data that grow, used by one thread at a time. The capacity is not used. */
RONDO_CF(CFMutableDataRef, CFDataCreateMutable, (CFAllocatorRef allocator, CFIndex capacity));
RONDO_CF(void, CFDataAppendBytes, (CFMutableDataRef data, const UInt8 *bytes, CFIndex length));
/* New bytes are 0. */
RONDO_CF(void, CFDataSetLength, (CFMutableDataRef data, CFIndex length));
/* Good until the data change. */
RONDO_CF(UInt8 *, CFDataGetMutableBytePtr, (CFMutableDataRef data));

/* ------------------------------------------------------------------------------------------------------------- Arrays */

typedef struct {
  CFIndex version;
  const void *(*retain)(CFAllocatorRef allocator, const void *value);
  void (*release)(CFAllocatorRef allocator, const void *value);
  CFStringRef (*copyDescription)(const void *value);
  Boolean (*equal)(const void *one, const void *other);
} CFArrayCallBacks;

/* An array that retains what is in it. */
RONDO_CF(const CFArrayCallBacks, kCFTypeArrayCallBacks, );

RONDO_CF(CFTypeID, CFArrayGetTypeID, (void));
/* With NULL for callbacks, or one without retain, the array does not retain its values. */
RONDO_CF(
    CFArrayRef, CFArrayCreate,
    (CFAllocatorRef allocator, const void **values, CFIndex count, const CFArrayCallBacks *callbacks));
RONDO_CF(CFIndex, CFArrayGetCount, (CFArrayRef array));
RONDO_CF(const void *, CFArrayGetValueAtIndex, (CFArrayRef array, CFIndex index));

/* An array that grows, used by one thread at a time. The capacity is not used. */
RONDO_CF(
    CFMutableArrayRef, CFArrayCreateMutable,
    (CFAllocatorRef allocator, CFIndex capacity, const CFArrayCallBacks *callbacks));
RONDO_CF(void, CFArrayAppendValue, (CFMutableArrayRef array, const void *value));
RONDO_CF(void, CFArrayInsertValueAtIndex, (CFMutableArrayRef array, CFIndex index, const void *value));
RONDO_CF(void, CFArrayRemoveValueAtIndex, (CFMutableArrayRef array, CFIndex index));
RONDO_CF(void, CFArrayRemoveAllValues, (CFMutableArrayRef array));

RONDO_CF_END

#endif
