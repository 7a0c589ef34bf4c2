// CFStringCreateWithFormat: printf's conversions, and those of objects and of UTF-16. The arguments may be numbered.
#include "CRondoCFPointers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NONE, INT, LONG, LONG_LONG, DOUBLE, LONG_DOUBLE, POINTER };

union argument {
  long long integer;
  double real;
  long double long_real;
  const void *pointer;
};

// One conversion: `flags` and `length` are the parts between the percent sign and the conversion; an argument's number is
// -1 for none.
struct conversion {
  const char *begin, *end;
  char flags[8], length[3], type;
  int value, width, precision;
  int fixed_width, fixed_precision;
};

struct text {
  char *bytes;
  size_t count, room;
  int has_failed;
};

static void append(struct text *text, const char *bytes, size_t count) {
  if (text->has_failed) return;
  if (text->count + count > text->room) {
    size_t room = (text->count + count) * 2 + 64;
    char *grown = realloc(text->bytes, room);
    if (!grown) {
      text->has_failed = 1;
      return;
    }
    text->bytes = grown;
    text->room = room;
  }
  if (count) memcpy(text->bytes + text->count, bytes, count);
  text->count += count;
}

// MARK: The format

static int number(const char **at) {
  int value = 0;
  while (**at >= '0' && **at <= '9') {
    if (value < 100000000) value = value * 10 + (**at - '0');
    ++*at;
  }
  return value;
}

// A number with a dollar sign is an argument's; -1, and nothing is read, if there is none.
static int numbered(const char **at) {
  const char *next = *at;
  int value = number(&next);
  if (next == *at || *next != '$' || value < 1 || value > 1000) return -1;
  *at = next + 1;
  return value - 1;
}

// A width or a precision: a number, or an argument's.
static void size(const char **at, int *argument, int *fixed, int *next) {
  if (**at == '*') {
    ++*at;
    int chosen = numbered(at);
    *argument = chosen >= 0 ? chosen : (*next)++;
  } else {
    *fixed = number(at);
  }
}

// The conversion that begins at a percent sign.
static struct conversion parse(const char *at, int *next) {
  struct conversion one = {.begin = at, .value = -1, .width = -1, .precision = -1, .fixed_width = -1, .fixed_precision = -1};
  ++at;
  int chosen = numbered(&at);
  for (size_t i = 0; *at && strchr("-+ #0'", *at); at++) {
    if (i < sizeof one.flags - 1 && !strchr(one.flags, *at)) one.flags[i++] = *at;
  }
  if (*at == '*' || (*at >= '1' && *at <= '9')) size(&at, &one.width, &one.fixed_width, next);
  if (*at == '.') {
    ++at;
    size(&at, &one.precision, &one.fixed_precision, next);
  }
  for (size_t i = 0; *at && strchr("hlqjztL", *at); at++) {
    if (i < sizeof one.length - 1) one.length[i++] = *at;
  }
  one.type = *at;
  one.end = *at ? at + 1 : at;
  if (one.type && strchr("diouxXcCsSp@fFeEgGaA", one.type)) one.value = chosen >= 0 ? chosen : (*next)++;
  return one;
}

static enum kind kind_of(const struct conversion *one) {
  char length = one->length[0];
  if (strchr("fFeEgGaA", one->type)) return length == 'L' ? LONG_DOUBLE : DOUBLE;
  if (strchr("sSp@", one->type)) return POINTER;
  if (one->type == 'c' || one->type == 'C') return INT;
  if (length == 'q' || length == 'j' || (length == 'l' && one->length[1] == 'l')) return LONG_LONG;
  return length == 'l' || length == 'z' || length == 't' ? LONG : INT;
}

// MARK: Its arguments

struct kinds {
  enum kind *of;
  int count;
  int has_failed;
};

static void note(struct kinds *kinds, int index, enum kind kind) {
  if (index < 0 || kinds->has_failed) return;
  if (index >= kinds->count) {
    enum kind *grown = realloc(kinds->of, (size_t)(index + 1) * sizeof *grown);
    if (!grown) {
      kinds->has_failed = 1;
      return;
    }
    for (int i = kinds->count; i <= index; i++) grown[i] = NONE;
    kinds->of = grown;
    kinds->count = index + 1;
  }
  kinds->of[index] = kind;
}

static union argument take(va_list *list, enum kind kind) {
  union argument taken = {0};
  switch (kind) {
  case NONE:
  case INT: taken.integer = va_arg(*list, int); break;
  case LONG: taken.integer = va_arg(*list, long); break;
  case LONG_LONG: taken.integer = va_arg(*list, long long); break;
  case DOUBLE: taken.real = va_arg(*list, double); break;
  case LONG_DOUBLE: taken.long_real = va_arg(*list, long double); break;
  case POINTER: taken.pointer = va_arg(*list, const void *); break;
  }
  return taken;
}

// MARK: Writing

// Fills up to the width, counted in characters.
static void pad(struct text *text, const struct conversion *one, int width, const char *bytes, size_t count) {
  int characters = 0;
  for (size_t i = 0; i < count; i++) characters += (bytes[i] & 0xc0) != 0x80;
  int left = strchr(one->flags, '-') != NULL;
  if (left) append(text, bytes, count);
  for (int i = characters; i < width; i++) append(text, " ", 1);
  if (!left) append(text, bytes, count);
}

// Characters of UTF-16 as UTF-8; -1 stands for all up to a zero.
static void write_units(struct text *text, const struct conversion *one, int width, const UniChar *units, long count) {
  if (count < 0) for (count = 0; units[count];) count++;
  const void *string = RondoCFStringCreateWithCharacters(NULL, units, count);
  const char *characters = string ? RondoCFStringGetCStringPtr(string, kCFStringEncodingUTF8) : NULL;
  if (characters) pad(text, one, width, characters, strlen(characters));
  if (string) RondoCFRelease(string);
}

// CoreFoundation has no width for it.
static void write_object(struct text *text, const void *object) {
  const void *description = object ? RondoCFCopyDescription(object) : NULL;
  const char *characters = description ? RondoCFStringGetCStringPtr(description, kCFStringEncodingUTF8) : "(null)";
  if (characters) append(text, characters, strlen(characters));
  if (description) RondoCFRelease(description);
}

// What printf writes of one conversion into `bytes`, and how many bytes that are.
static int print(char *bytes, size_t size, const char *format, enum kind kind, union argument argument) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  switch (kind) {
  case LONG: return snprintf(bytes, size, format, (long)argument.integer);
  case LONG_LONG: return snprintf(bytes, size, format, argument.integer);
  case DOUBLE: return snprintf(bytes, size, format, argument.real);
  case LONG_DOUBLE: return snprintf(bytes, size, format, argument.long_real);
  case POINTER: return snprintf(bytes, size, format, argument.pointer);
  default: return snprintf(bytes, size, format, (int)argument.integer);
  }
#pragma GCC diagnostic pop
}

static void write_plain(
    struct text *text, const struct conversion *one, int width, int precision, enum kind kind, union argument argument) {
  char format[64], few[256];
  int at = snprintf(format, sizeof format, "%%%s", one->flags);
  if (width >= 0) at += snprintf(format + at, sizeof format - (size_t)at, "%d", width);
  if (precision >= 0) at += snprintf(format + at, sizeof format - (size_t)at, ".%d", precision);
  const char *length = strchr("cs", one->type) ? "" : one->length[0] == 'q' ? "ll" : one->length;
  snprintf(format + at, sizeof format - (size_t)at, "%s%c", length, one->type);
  int count = print(few, sizeof few, format, kind, argument);
  if (count < 0) return;
  if ((size_t)count < sizeof few) return append(text, few, (size_t)count);
  char *many = malloc((size_t)count + 1);
  if (many) {
    print(many, (size_t)count + 1, format, kind, argument);
    append(text, many, (size_t)count);
  } else {
    text->has_failed = 1;
  }
  free(many);
}

static void write_conversion(struct text *text, struct conversion one, const struct kinds *kinds, union argument *arguments) {
  if (one.type == '%') return append(text, "%", 1);
  // What is no conversion stays as it is.
  if (one.value < 0) return append(text, one.begin, (size_t)(one.end - one.begin));
  int width = one.width >= 0 ? (int)arguments[one.width].integer : one.fixed_width;
  int precision = one.precision >= 0 ? (int)arguments[one.precision].integer : one.fixed_precision;
  if (width < -1) {
    width = -width;
    // There is room: of each flag there is one.
    if (!strchr(one.flags, '-')) one.flags[strlen(one.flags)] = '-';
  }
  union argument argument = arguments[one.value];
  switch (one.type) {
  case '@': return write_object(text, argument.pointer);
  case 'C': {
    UniChar unit = (UniChar)argument.integer;
    return write_units(text, &one, width, &unit, 1);
  }
  case 'S':
    if (!argument.pointer) return append(text, "(null)", 6);
    return write_units(text, &one, width, argument.pointer, precision);
  case 'p':
    if (!argument.pointer) return pad(text, &one, width, "0x0", 3);
    break;
  case 's':
    if (!argument.pointer) return pad(text, &one, width, "(null)", 6);
  }
  write_plain(text, &one, width, precision, kinds->of[one.value], argument);
}

const void *RondoCFStringCreateWithFormat(const void *allocator, const void *options, const void *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const void *string = RondoCFStringCreateWithFormatAndArguments(allocator, options, format, arguments);
  va_end(arguments);
  return string;
}

const void *RondoCFStringCreateWithFormatAndArguments(
    const void *allocator, const void *options, const void *format, va_list list) {
  (void)allocator, (void)options;
  const char *characters = RondoCFStringGetCStringPtr(format, kCFStringEncodingUTF8);
  if (!characters) return NULL;
  struct kinds kinds = {0};
  int next = 0;
  for (const char *at = characters; *at;) {
    if (*at != '%') {
      at++;
      continue;
    }
    struct conversion one = parse(at, &next);
    note(&kinds, one.width, INT);
    note(&kinds, one.precision, INT);
    if (one.value >= 0) note(&kinds, one.value, kind_of(&one));
    at = one.end;
  }
  union argument *arguments = calloc((size_t)kinds.count + 1, sizeof *arguments);
  struct text text = {.has_failed = !arguments || kinds.has_failed};
  va_list taken;
  va_copy(taken, list);
  // The size of an argument that no conversion names is not known: it and those after it are not read.
  for (int i = 0; !text.has_failed && i < kinds.count && kinds.of[i] != NONE; i++) {
    arguments[i] = take(&taken, kinds.of[i]);
  }
  va_end(taken);
  next = 0;
  for (const char *at = characters; *at && !text.has_failed;) {
    const char *end = strchr(at, '%');
    append(&text, at, end ? (size_t)(end - at) : strlen(at));
    if (!end) break;
    struct conversion one = parse(end, &next);
    write_conversion(&text, one, &kinds, arguments);
    at = one.end;
  }
  const void *string = text.has_failed ? NULL : rondo_cf_string(text.bytes, text.count);
  free(kinds.of), free(arguments), free(text.bytes);
  return string;
}
