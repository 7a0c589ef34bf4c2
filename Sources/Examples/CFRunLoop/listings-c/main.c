// Programs for CFRunLoop in C, compiled twice: with each of the two includes. Only message ports are Rondo's alone.
#ifdef RONDO
#include <rondo/CFRunLoop.h>
#else
#include <CoreFoundation/CoreFoundation.h>
#endif

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void ports(void);
void check_in(void);
void file_descriptors(void);
void names_and_queues(void);
void refusals(void);
void descriptions(void);
void too_many_modes(void);
void without_descriptors(void);
void sockets(void);
void connections(void);
void ports_as_sources(void);

// -------------------------------------------------------------------------------------------------------------- Contexts

struct counted {
  const char *name;
  int count;
};

static const void *retain(const void *info) {
  struct counted *counted = (struct counted *)info;
  printf("%s retain %d\n", counted->name, ++counted->count);
  return info;
}

static void release(const void *info) {
  struct counted *counted = (struct counted *)info;
  printf("%s release %d\n", counted->name, --counted->count);
}

static void print_string(const char *what, CFStringRef string) {
  char text[100];
  if (!CFStringGetCString(string, text, sizeof text, kCFStringEncodingUTF8)) strcpy(text, "?");
  printf("%s %s\n", what, text);
}

static void schedule(void *info, CFRunLoopRef loop, CFRunLoopMode mode) {
  printf("%s schedule %d ", ((struct counted *)info)->name, loop == CFRunLoopGetCurrent());
  print_string("in", mode);
}

static void cancel(void *info, CFRunLoopRef loop, CFRunLoopMode mode) {
  printf("%s cancel %d ", ((struct counted *)info)->name, loop == CFRunLoopGetCurrent());
  print_string("in", mode);
}

static void perform(void *info) { printf("%s perform\n", ((struct counted *)info)->name); }

static void fire(CFRunLoopTimerRef timer, void *info) {
  printf("%s fire %d\n", ((struct counted *)info)->name, CFRunLoopTimerIsValid(timer));
}

static void observe(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
  printf("%s activity %lu %d\n", ((struct counted *)info)->name, (unsigned long)activity,
         CFRunLoopObserverIsValid(observer));
}

static void contexts(void) {
  CFRunLoopRef loop = CFRunLoopGetCurrent();
  struct counted s = {"source", 0}, t = {"timer", 0}, o = {"observer", 0};

  CFRunLoopSourceContext of_source = {0, &s, retain, release, NULL, NULL, NULL, schedule, cancel, perform};
  CFRunLoopSourceRef source = CFRunLoopSourceCreate(kCFAllocatorDefault, 3, &of_source);
  CFRunLoopTimerContext of_timer = {0, &t, retain, release, NULL};
  CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() - 1, 0, 0, 0, fire, &of_timer);
  CFRunLoopObserverContext of_observer = {0, &o, retain, release, NULL};
  CFRunLoopObserverRef observer =
      CFRunLoopObserverCreate(NULL, kCFRunLoopAllActivities, true, 0, observe, &of_observer);

  CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode);
  CFRunLoopAddTimer(loop, timer, kCFRunLoopCommonModes);
  CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode);
  printf("result %d\n", (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false));
  CFRunLoopSourceSignal(source);
  printf("result %d\n", (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 5, true));
  CFRunLoopSourceContext read;
  memset(&read, 0, sizeof read);
  CFRunLoopSourceGetContext(source, &read);
  printf("context %d %d\n", read.info == &s, read.perform == perform);

  // Its user's reference first, then the loop's.
  CFRelease(observer);
  printf("observer left to the loop\n");
  CFRunLoopRemoveObserver(loop, observer, kCFRunLoopDefaultMode);
  CFRetain(timer);
  CFRelease(timer);
  printf("timer valid %d\n", CFRunLoopTimerIsValid(timer));
  CFRelease(timer);
  CFRunLoopRemoveSource(loop, source, kCFRunLoopDefaultMode);
  printf("source removed\n");
  CFRelease(source);
  printf("left %d %d %d\n", s.count, t.count, o.count);
}

// ---------------------------------------------------------------------------------------------------------------- Blocks

static void blocks(void) {
#if __BLOCKS__
  CFRunLoopRef loop = CFRunLoopGetCurrent();
  __block int fires = 0;
  CFRunLoopTimerRef timer =
      CFRunLoopTimerCreateWithHandler(NULL, CFAbsoluteTimeGetCurrent(), 0.001, 0, 0, ^(CFRunLoopTimerRef fired) {
        printf("fire %d\n", ++fires);
        if (fires == 3) CFRunLoopTimerInvalidate(fired);
      });
  CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode);
  CFRelease(timer);
  CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, ^{ printf("block\n"); });
  CFRunLoopObserverRef observer = CFRunLoopObserverCreateWithHandler(
      NULL, kCFRunLoopEntry | kCFRunLoopExit, true, 0, ^(CFRunLoopObserverRef told, CFRunLoopActivity activity) {
        printf("activity %lu after %d %d\n", (unsigned long)activity, fires, CFRunLoopObserverDoesRepeat(told));
      });
  CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode);
  CFRelease(observer);
  printf("result %d\n", (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, false));
#endif
}

// ---------------------------------------------------------------------------------------------------------------- Values

static void values(void) {
  CFStringRef constant = CFSTR("a constant");
  print_string("string", constant);
  CFStringRef greeting = CFStringCreateWithCString(NULL, "gr\xc3\xbc\xc3\x9f", kCFStringEncodingUTF8);
  printf("length %ld\n", (long)CFStringGetLength(greeting));
  CFRelease(greeting);
  CFStringRef made = CFStringCreateWithCString(NULL, "a constant", kCFStringEncodingUTF8);
  printf("equal %d hash %d\n", CFEqual(made, constant), CFHash(made) == CFHash(constant));
  CFRelease(made);
  printf("bad %d\n", CFStringCreateWithCString(NULL, "\xff", kCFStringEncodingUTF8) == NULL);
  char small[5];
  printf("small %d\n", CFStringGetCString(constant, small, sizeof small, kCFStringEncodingUTF8));

  const UInt8 bytes[] = {1, 2, 3, 4};
  CFDataRef data = CFDataCreate(NULL, bytes, 4);
  UInt8 part[2];
  CFDataGetBytes(data, CFRangeMake(1, 2), part);
  printf("data %ld %d %d %d\n", (long)CFDataGetLength(data), CFDataGetBytePtr(data)[3], part[0], part[1]);
  CFRelease(data);

  const void *list[] = {CFSTR("one"), CFSTR("two")};
  CFArrayRef array = CFArrayCreate(NULL, list, 2, &kCFTypeArrayCallBacks);
  printf("array %ld\n", (long)CFArrayGetCount(array));
  print_string("second", CFArrayGetValueAtIndex(array, 1));
  CFRelease(array);
  printf("types %d %d\n", CFGetTypeID(constant) == CFStringGetTypeID(),
         CFGetTypeID(CFRunLoopGetCurrent()) == CFRunLoopGetTypeID());
}

static void print_format(CFStringRef format, ...) {
  va_list arguments;
  va_start(arguments, format);
  CFStringRef made = CFStringCreateWithFormatAndArguments(NULL, NULL, format, arguments);
  va_end(arguments);
  print_string("format", made);
  CFRelease(made);
}

static void formats(void) {
  print_format(CFSTR("plain"));
  print_format(CFSTR("com.example.Thread-%d"), 42);
  print_format(CFSTR("%5d|%-5d|%05d|%+d|%x|%X|%#x|%o"), 42, 42, 42, 42, 255, 255, 255, 8);
  print_format(CFSTR("%ld %lld %lu %zu %hhd"), -1L, -2LL, 3UL, (size_t)4, (char)5);
  print_format(CFSTR("%f %.2f %8.3f %e %g"), 1.5, 1.005, 3.14159, 12345.678, 0.0001);
  print_format(CFSTR("%s|%8s|%-8s|%.2s"), "text", "text", "text", "text");
  print_format(CFSTR("%c%c %%"), 'a', 'b');
  print_format(CFSTR("%*d|%.*f"), 6, 42, 1, 2.25);
  print_format(CFSTR("%2$s %1$s"), "one", "two");
  CFStringRef object = CFStringCreateWithCString(NULL, "object", kCFStringEncodingUTF8);
  CFStringRef other = CFStringCreateWithCString(NULL, "na\xc3\xafve", kCFStringEncodingUTF8);
  print_format(CFSTR("%@ and %@, %10@|"), object, other, object);
  print_format(CFSTR("%C"), 0x41);
  const UniChar units[] = {'u', 'n', 'i', 't', 's', 0};
  print_format(CFSTR("%S"), units);

  // As far as a buffer reaches, and as far as the characters are of the encoding.
  UInt8 bytes[16];
  CFIndex used = -1;
  CFRange all = CFRangeMake(0, CFStringGetLength(object));
  long converted = (long)CFStringGetBytes(object, all, kCFStringEncodingASCII, 0, false, bytes, sizeof bytes, &used);
  printf("bytes %ld %ld %.6s\n", converted, (long)used, (const char *)bytes);
  converted = (long)CFStringGetBytes(object, CFRangeMake(1, 3), kCFStringEncodingUTF8, 0, false, bytes, 2, &used);
  printf("bytes %ld %ld\n", converted, (long)used);
  converted = (long)CFStringGetBytes(object, all, kCFStringEncodingUTF16LE, 0, false, NULL, 0, &used);
  printf("bytes %ld %ld\n", converted, (long)used);
  all = CFRangeMake(0, CFStringGetLength(other));
  converted = (long)CFStringGetBytes(other, all, kCFStringEncodingASCII, 0, false, bytes, sizeof bytes, &used);
  printf("bytes %ld %ld\n", converted, (long)used);
  converted = (long)CFStringGetBytes(other, all, kCFStringEncodingASCII, '?', false, bytes, sizeof bytes, &used);
  printf("bytes %ld %ld %.5s\n", converted, (long)used, (const char *)bytes);

  CFStringRef read = CFStringCreateWithBytes(NULL, (const UInt8 *)"abc", 2, kCFStringEncodingASCII, false);
  print_string("read", read);
  CFRelease(read);
  read = CFStringCreateWithBytes(NULL, (const UInt8 *)"\xe9", 1, kCFStringEncodingISOLatin1, false);
  print_string("read", read);
  CFRelease(read);
  printf("bad %d\n", CFStringCreateWithBytes(NULL, (const UInt8 *)"\xe9", 1, kCFStringEncodingUTF8, false) == NULL);
  read = CFStringCreateWithCharacters(NULL, units, 4);
  print_string("read", read);
  UniChar character;
  CFStringGetCharacters(read, CFRangeMake(1, 1), &character);
  printf("character %c %c\n", character, CFStringGetCharacterAtIndex(read, 2));
  printf("compare %d %d %d\n", (int)CFStringCompare(read, CFSTR("unit"), 0), (int)CFStringCompare(read, CFSTR("units"), 0),
         (int)CFStringCompare(CFSTR("UNIT"), read, kCFCompareCaseInsensitive));
  CFRelease(read);
  CFRelease(other);
  CFRelease(object);
}

static void growth(void) {
  UInt8 *bytes = CFAllocatorAllocate(NULL, 4, 0);
  memcpy(bytes, "abcd", 4);
  bytes = CFAllocatorReallocate(kCFAllocatorDefault, bytes, 8, 0);
  printf("allocated %.4s, nothing %d\n", (const char *)bytes, CFAllocatorAllocate(NULL, 0, 0) == NULL);
  CFDataRef data = CFDataCreateWithBytesNoCopy(NULL, bytes, 4, kCFAllocatorNull);
  printf("data %ld\n", (long)CFDataGetLength(data));
  CFRelease(data);
  CFMutableDataRef growing = CFDataCreateMutable(NULL, 0);
  for (int i = 0; i < 100; i++) CFDataAppendBytes(growing, bytes, 4);
  CFDataSetLength(growing, 402);
  printf("grown %ld %c %d\n", (long)CFDataGetLength(growing), CFDataGetBytePtr(growing)[399],
         CFDataGetMutableBytePtr(growing)[401]);
  CFDataRef copy = CFDataCreateCopy(NULL, growing);
  CFDataSetLength(growing, 1);
  printf("copy %ld of %ld\n", (long)CFDataGetLength(copy), (long)CFDataGetLength(growing));
  CFRelease(copy);
  CFRelease(growing);
  CFAllocatorDeallocate(NULL, bytes);

  CFMutableArrayRef commands = CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks);
  CFStringRef command = CFStringCreateWithCString(NULL, "command", kCFStringEncodingUTF8);
  CFArrayAppendValue(commands, command);
  CFArrayInsertValueAtIndex(commands, 0, CFSTR("first"));
  // The array has references of its own.
  CFRelease(command);
  print_string("at 0", CFArrayGetValueAtIndex(commands, 0));
  CFArrayRemoveValueAtIndex(commands, 0);
  print_string("at 0", CFArrayGetValueAtIndex(commands, 0));
  CFArrayRemoveAllValues(commands);
  printf("count %ld\n", (long)CFArrayGetCount(commands));
  CFRelease(commands);
}

static void readings(void) {
  struct counted named = {"named", 0};
  CFRunLoopSourceContext of_source = {0, &named, NULL, NULL, NULL, NULL, NULL, NULL, NULL, perform};
  CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &of_source);
  CFRunLoopTimerContext of_timer = {0, &named, NULL, NULL, NULL};
  CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + 60, 1, 0, 0, fire, &of_timer);
  CFRunLoopObserverContext of_observer = {0, &named, NULL, NULL, NULL}, read;
  CFRunLoopObserverRef observer = CFRunLoopObserverCreate(NULL, kCFRunLoopExit, true, 4, observe, &of_observer);
  printf("types %d %d %d\n", CFGetTypeID(source) == CFRunLoopSourceGetTypeID(),
         CFGetTypeID(timer) == CFRunLoopTimerGetTypeID(), CFGetTypeID(observer) == CFRunLoopObserverGetTypeID());
  memset(&read, 0, sizeof read);
  CFRunLoopObserverGetContext(observer, &read);
  printf("context %d, activities %lu, order %ld\n", read.info == &named,
         (unsigned long)CFRunLoopObserverGetActivities(observer), (long)CFRunLoopObserverGetOrder(observer));
  printf("equal %d %d\n", CFEqual(source, source), CFEqual(source, timer));
  CFRelease(source), CFRelease(timer), CFRelease(observer);

  CFSocketContext of_socket = {0, &named, retain, release, NULL}, read_back;
  CFSocketRef socket = CFSocketCreate(NULL, PF_INET, SOCK_STREAM, 0, kCFSocketReadCallBack, NULL, &of_socket);
  memset(&read_back, 0, sizeof read_back);
  CFSocketGetContext(socket, &read_back);
  printf("context %d, type %d\n", read_back.info == &named, CFGetTypeID(socket) == CFSocketGetTypeID());
  // Without the flag, the descriptor is the program's.
  CFSocketSetSocketFlags(socket, CFSocketGetSocketFlags(socket) & ~(CFOptionFlags)kCFSocketCloseOnInvalidate);
  int native = CFSocketGetNative(socket);
  CFSocketInvalidate(socket);
  printf("still open %d\n", close(native) == 0);
  CFRelease(socket);

  CFStringRef string = CFStringCreateWithCStringNoCopy(NULL, "kept", kCFStringEncodingUTF8, kCFAllocatorNull);
  CFStringRef copy = CFStringCreateCopy(NULL, string);
  printf("copy %d, room %d\n", CFEqual(string, copy),
         CFStringGetMaximumSizeForEncoding(CFStringGetLength(string), kCFStringEncodingUTF8) >= 4);
  const char *characters = CFStringGetCStringPtr(string, CFStringGetSystemEncoding());
  // CoreFoundation has them as it likes.
  printf("characters %d\n", !characters || strcmp(characters, "kept") == 0);
  CFRelease(copy), CFRelease(string);
  const UInt8 byte = 1;
  CFDataRef data = CFDataCreate(NULL, &byte, 1);
  CFArrayRef array = CFArrayCreate(NULL, NULL, 0, &kCFTypeArrayCallBacks);
  printf("types %d %d, allocators %d %d\n", CFGetTypeID(data) == CFDataGetTypeID(),
         CFGetTypeID(array) == CFArrayGetTypeID(), CFAllocatorAllocate(CFGetAllocator(data), 0, 0) == NULL,
         CFAllocatorAllocate(CFAllocatorGetDefault(), 0, 0) == NULL);
  CFRelease(array), CFRelease(data);
}

struct program {
  void (*run)(void);
};

static void *on_thread(void *program) {
  ((struct program *)program)->run();
  return NULL;
}

static void try(const char *name, void (*function)(void)) {
  pthread_t thread;
  printf("== %s\n", name);
  struct program program = {function};
  pthread_create(&thread, NULL, on_thread, &program);
  pthread_join(thread, NULL);
}

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef RONDO
  struct {
    const char *name;
    void (*program)(void);
  } own[] = {{"ports", ports}, {"check-in", check_in}, {"descriptors", file_descriptors}, {"names", names_and_queues}, {"refusals", refusals},
           {"descriptions", descriptions}, {"modes", too_many_modes},
           {"shortage", without_descriptors}};
  for (size_t i = 0; count > 1 && i < sizeof own / sizeof own[0]; i++) {
    if (strcmp(arguments[1], own[i].name) != 0) continue;
    own[i].program();
    return 0;
  }
#else
  (void)count, (void)arguments;
#endif
  try("contexts", contexts);
  try("blocks", blocks);
  try("values", values);
  try("formats", formats);
  try("growth", growth);
  try("readings", readings);
  try("sockets", sockets);
  try("connections", connections);
  try("ports as sources", ports_as_sources);
  return 0;
}
