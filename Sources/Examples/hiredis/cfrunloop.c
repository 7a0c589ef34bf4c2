// A client of Redis by hiredis and the adapter for CFRunLoop that comes with it, which knows nothing of Rondo:
//
//   cfrunloop SOCKET COUNT DEPTH
//
// It sends COUNT commands to the server at that Unix socket, never more than DEPTH at a time, and compares each reply.

// The adapter includes <CoreFoundation/CoreFoundation.h>: -I PREFIX/include/rondo has one.
#include <stdlib.h>
#include <hiredis/adapters/macosx.h>
#include <stdio.h>
#include <string.h>

static long wanted, depth, sent, received;

static void answered(redisAsyncContext *context, void *reply, void *unused);

static void fill(redisAsyncContext *context) {
  while (sent < wanted && sent - received < depth) {
    if (redisAsyncCommand(context, answered, NULL, "INCR count") != REDIS_OK) exit(1);
    sent += 1;
  }
}

static void answered(redisAsyncContext *context, void *given, void *unused) {
  (void)unused;
  redisReply *reply = given;
  // Without a reply the connection has ended.
  if (!reply || reply->type != REDIS_REPLY_INTEGER || reply->integer != received + 1) {
    fprintf(stderr, "after %ld replies: %s\n", received, reply ? "another number" : context->errstr);
    exit(1);
  }
  received += 1;
  if (received == wanted) redisAsyncDisconnect(context);
  else fill(context);
}

static void ended(const redisAsyncContext *context, int status) {
  (void)context, (void)status;
  CFRunLoopStop(CFRunLoopGetCurrent());
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  wanted = atol(arguments[2]);
  depth = atol(arguments[3]);
  redisAsyncContext *context = redisAsyncConnectUnix(arguments[1]);
  if (!context || context->err || redisMacOSAttach(context, CFRunLoopGetCurrent()) != REDIS_OK) return 1;
  redisAsyncSetDisconnectCallback(context, ended);
  redisAsyncCommand(context, NULL, NULL, "DEL count");
  fill(context);
  CFRunLoopRun();
  printf("%ld replies in order\n", received);
  return received == wanted ? 0 : 1;
}
