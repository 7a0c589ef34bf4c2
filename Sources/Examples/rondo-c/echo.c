// An echo server of one connection, with an idle limit that each message puts off: descriptors and timeouts.
//
//   cc echo.c $(pkg-config --cflags --libs rondo) -o echo && ./echo
//
// The client is the same program, at the other end of a socket pair. It prints:
//
//   client: hello
//   client: again
//   server: quiet for too long

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
  ssize_t count = read(descriptor, bytes, sizeof bytes);
  if (count <= 0) {
    rondo_item_invalidate(source);
    return;
  }
  // One store: the loop finds out when the old date comes.
  rondo_timeout_arm(connection->loop, connection->idle, rondo_now() + limit);
  if (write(descriptor, bytes, (size_t)count) != count) rondo_item_invalidate(source);
}

static void hear(rondo_descriptor *source, int descriptor, unsigned readiness, void *context) {
  static int answers;
  char bytes[512];
  (void)source, (void)readiness, (void)context;
  ssize_t count = read(descriptor, bytes, sizeof bytes - 1);
  if (count <= 0) return;
  bytes[count] = 0;
  printf("client: %s\n", bytes);
  answers += 1;
  if (answers == 1 && write(descriptor, "again", 5) != 5) perror("write");
}

int main(void) {
  int ends[2];
  rondo_loop *loop;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || rondo_loop_current(&loop) < 0) return 1;
  connection server = {loop, NULL, {0, 0}};
  rondo_descriptor_new(&server.source, ends[0], RONDO_READ, 0, 0, serve, &server, NULL);
  rondo_timeout_new(&server.idle, loop, NULL, rondo_now() + limit, 0, expire, &server);
  rondo_loop_add(loop, server.source, NULL);

  rondo_descriptor *client;
  // The loop closes this end when the source is invalidated.
  rondo_descriptor_new(&client, ends[1], RONDO_READ, RONDO_CLOSE, 0, hear, NULL, NULL);
  rondo_loop_add(loop, client, NULL);
  if (write(ends[1], "hello", 5) != 5) return 1;

  rondo_loop_run(loop, NULL, RONDO_FOREVER, 0);
  rondo_timeout_discard(loop, server.idle);
  rondo_item_invalidate(client);
  rondo_release(client);
  rondo_release(server.source);
  close(ends[0]);
  return 0;
}
