// An echo server of one connection, with an idle limit that each message puts off: descriptors and timeouts.
//
//   cc echo.c $(pkg-config --cflags --libs rondo) -o echo && ./echo
//
// The client is the same program, at the other end of a socket pair. It prints:
//
//   client: hello
//   client: again
//   server: quiet for too long

#include <errno.h>
#include <rondo.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct connection {
  rondo_loop *loop;
  rondo_descriptor *source;
  rondo_timeout idle;
} connection;

// Long enough for any machine to answer in.
static const int64_t limit = RONDO_SECOND;

// What the program ends with.
static int status;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "echo: %s: %s\n", what, why);
  status = 1;
}

static int has_sent(int descriptor, const char *bytes, size_t count) {
  ssize_t sent;
  do sent = write(descriptor, bytes, count);
  while (sent < 0 && errno == EINTR);
  if (sent != (ssize_t)count) fail("write", strerror(errno));
  return sent == (ssize_t)count;
}

// How many bytes there are; 0 at the end, and negative if there are none yet: then the loop calls again.
static ssize_t take(int descriptor, char *bytes, size_t size) {
  ssize_t count = read(descriptor, bytes, size);
  if (count >= 0 || errno == EINTR || errno == EAGAIN) return count;
  fail("read", strerror(errno));
  return 0;
}

static void expire(void *opaque) {
  connection *connection = opaque;
  printf("server: quiet for too long\n");
  rondo_item_invalidate(connection->source);
  rondo_loop_stop(connection->loop);
}

static void serve(rondo_descriptor *source, int descriptor, unsigned readiness, void *opaque) {
  connection *connection = opaque;
  char bytes[512];
  (void)readiness;
  ssize_t count = take(descriptor, bytes, sizeof bytes);
  if (count == 0) rondo_item_invalidate(source);
  if (count <= 0) return;
  // One store: the loop finds out when the old date comes.
  rondo_timeout_arm(connection->loop, connection->idle, rondo_now() + limit);
  if (!has_sent(descriptor, bytes, (size_t)count)) rondo_item_invalidate(source);
}

static void hear(rondo_descriptor *source, int descriptor, unsigned readiness, void *context) {
  static int answers;
  char bytes[512];
  (void)readiness, (void)context;
  ssize_t count = take(descriptor, bytes, sizeof bytes - 1);
  if (count == 0) rondo_item_invalidate(source);
  if (count <= 0) return;
  bytes[count] = 0;
  printf("client: %s\n", bytes);
  answers += 1;
  if (answers == 1) has_sent(descriptor, "again", 5);
}

int main(void) {
  int ends[2];
  rondo_loop *loop;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return fail("socketpair", strerror(errno)), 1;
  int error = rondo_loop_current(&loop);
  if (error < 0) return fail("no loop", rondo_error_text(error)), 1;
  connection server = {loop, NULL, {0, 0}};
  rondo_descriptor_new(&server.source, ends[0], RONDO_READ, 0, 0, serve, &server, NULL);
  rondo_timeout_new(&server.idle, loop, NULL, rondo_now() + limit, 0, expire, &server);
  rondo_loop_add(loop, server.source, NULL);

  rondo_descriptor *client;
  // The loop closes this end when the source is invalidated.
  rondo_descriptor_new(&client, ends[1], RONDO_READ, RONDO_CLOSE, 0, hear, NULL, NULL);
  rondo_loop_add(loop, client, NULL);
  has_sent(ends[1], "hello", 5);

  rondo_loop_run(loop, NULL, RONDO_FOREVER, 0);
  // The loop has given up a source that the kernel does not let it watch.
  rondo_descriptor *sources[] = {server.source, client};
  for (int index = 0; index < 2; index++) {
    int reason = rondo_descriptor_reason(sources[index]);
    if (reason < 0) fail("not watched", rondo_error_text(reason));
  }
  rondo_timeout_discard(loop, server.idle);
  rondo_item_invalidate(client);
  rondo_release(client);
  rondo_release(server.source);
  close(ends[0]);
  return status;
}
