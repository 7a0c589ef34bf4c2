// Core Foundation's functions under names of our own, for RondoFoundation. Importing its module there would bring its
// declarations to every module that imports RondoFoundation, where they would replace those of CRondoCF, of the same names.
#pragma once

#if __has_feature(blocks)

struct rondo_core_source_context {
  long version;
  void *_Nullable info;
  const void *_Nullable (*_Nullable retain)(const void *_Nullable info);
  void (*_Nullable release)(const void *_Nullable info);
  const void *_Nullable (*_Nullable copyDescription)(const void *_Nullable info);
  unsigned char (*_Nullable equal)(const void *_Nullable one, const void *_Nullable other);
  unsigned long (*_Nullable hash)(const void *_Nullable info);
  // Version 1 has the first of these in the place of `schedule`, and the second in that of `cancel`.
  int (*_Nullable getPort)(void *_Nullable info);
  void (*_Nullable performOfPort)(void *_Nullable info);
  void (*_Nullable perform)(void *_Nullable info);
};

struct rondo_core_stream_context {
  long version;
  void *_Nullable info;
  void *_Nullable (*_Nullable retain)(void *_Nullable info);
  void (*_Nullable release)(void *_Nullable info);
  const void *_Nullable (*_Nullable copyDescription)(void *_Nullable info);
};

#define RONDO_CORE(result, name, symbol, parameters) extern result rondo_core_##name parameters __asm__(#symbol)

extern const void *_Nonnull const rondo_core_default_mode __asm__("kCFRunLoopDefaultMode");
extern const void *_Nonnull const rondo_core_common_modes __asm__("kCFRunLoopCommonModes");

RONDO_CORE(void *_Nonnull, current_loop, CFRunLoopGetCurrent, (void));
RONDO_CORE(void *_Nonnull, main_loop, CFRunLoopGetMain, (void));
RONDO_CORE(int, run, CFRunLoopRunInMode, (const void *_Nonnull mode, double seconds, unsigned char returns_after_source));
RONDO_CORE(void, wake_up, CFRunLoopWakeUp, (void *_Nonnull loop));
RONDO_CORE(
    void, perform, CFRunLoopPerformBlock,
    (void *_Nonnull loop, const void *_Nonnull mode, void (^_Nonnull block)(void)));
RONDO_CORE(
    void *_Nullable, make_source, CFRunLoopSourceCreate,
    (const void *_Nullable allocator, long order, struct rondo_core_source_context *_Nonnull context));
RONDO_CORE(
    void, add_source, CFRunLoopAddSource,
    (void *_Nonnull loop, void *_Nonnull source, const void *_Nonnull mode));
RONDO_CORE(
    void, remove_source, CFRunLoopRemoveSource,
    (void *_Nonnull loop, void *_Nonnull source, const void *_Nonnull mode));
RONDO_CORE(void, signal_source, CFRunLoopSourceSignal, (void *_Nonnull source));
RONDO_CORE(void, invalidate_source, CFRunLoopSourceInvalidate, (void *_Nonnull source));
RONDO_CORE(
    void *_Nullable, make_observer, CFRunLoopObserverCreateWithHandler,
    (const void *_Nullable allocator, unsigned long activities, unsigned char repeats, long order,
     void (^_Nonnull handler)(void *_Nullable observer, unsigned long activity)));
RONDO_CORE(
    void, add_observer, CFRunLoopAddObserver,
    (void *_Nonnull loop, void *_Nonnull observer, const void *_Nonnull mode));
RONDO_CORE(void, invalidate_observer, CFRunLoopObserverInvalidate, (void *_Nonnull observer));
RONDO_CORE(
    void *_Nullable, make_string, CFStringCreateWithCString,
    (const void *_Nullable allocator, const char *_Nonnull text, unsigned encoding));
RONDO_CORE(unsigned long, type_of, CFGetTypeID, (const void *_Nonnull object));
RONDO_CORE(unsigned long, type_of_read_streams, CFReadStreamGetTypeID, (void));
RONDO_CORE(unsigned long, type_of_write_streams, CFWriteStreamGetTypeID, (void));
RONDO_CORE(
    unsigned char, set_client_of_read_stream, CFReadStreamSetClient,
    (void *_Nonnull stream, unsigned long events,
     void (*_Nonnull call)(void *_Nonnull stream, unsigned long event, void *_Nullable info),
     struct rondo_core_stream_context *_Nonnull context));
RONDO_CORE(
    unsigned char, set_client_of_write_stream, CFWriteStreamSetClient,
    (void *_Nonnull stream, unsigned long events,
     void (*_Nonnull call)(void *_Nonnull stream, unsigned long event, void *_Nullable info),
     struct rondo_core_stream_context *_Nonnull context));

#undef RONDO_CORE
#endif
