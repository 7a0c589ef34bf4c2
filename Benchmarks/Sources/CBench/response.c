// Where an HTTP response ends.

#define _GNU_SOURCE
#include "bench.h"

#include <string.h>
#include <strings.h>

// A number and the end of its line; -1 for anything else.
static int64_t number(const char *text) {
  enum { most_digits = 9 };
  while (*text == ' ') text++;
  int64_t value = 0;
  int digits = 0;
  for (; *text >= '0' && *text <= '9' && digits < most_digits; digits++) value = value * 10 + (*text++ - '0');
  return digits > 0 && *text == '\r' ? value : -1;
}

// The one Content-Length of a head whose lines all end before `end`; -1 if there is none, or a second one.
static int64_t content_length(const char *line, const char *end) {
  static const char name[] = "content-length:";
  int64_t length = -1;
  for (; line < end; line = (const char *)memmem(line, (size_t)(end - line), "\r\n", 2) + 2) {
    if (strncasecmp(line, name, sizeof name - 1) != 0) continue;
    if (length >= 0) return -1;
    length = number(line + sizeof name - 1);
    if (length < 0) return -1;
  }
  return length;
}

int bench_response_state(const char *bytes, size_t count, const char *body) {
  static const char status[] = "HTTP/1.1 200";
  const size_t begin = sizeof status - 1, length = strlen(body);
  if (memcmp(bytes, status, count < begin ? count : begin) != 0) return -1;
  if (count > begin && bytes[begin] != ' ' && bytes[begin] != '\r') return -1;
  const char *end = memmem(bytes, count, "\r\n\r\n", 4);
  if (end == NULL) return 0;
  if (content_length(bytes, end + 2) != (int64_t)length) return -1;
  const char *content = end + 4;
  size_t come = (size_t)(bytes + count - content);
  if (come > length || memcmp(content, body, come) != 0) return -1;
  return come == length;
}
