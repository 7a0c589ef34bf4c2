// A client of Redis by hiredis, and the adapters for other loops that come with it, as they are.

#include "guests.h"

#include <stddef.h>

#if __has_include(<hiredis/async.h>)

#include <hiredis/async.h>
#include <hiredis/adapters/libevent.h>
#include <stdlib.h>

struct client {
  redisAsyncContext *redis;
  long wanted, depth, sent, received;
  guest_redis_over over;
  void *argument;
};

static void answered(redisAsyncContext *redis, void *reply, void *context);

static void fill(struct client *client) {
  while (client->sent < client->wanted && client->sent - client->received < client->depth) {
    if (redisAsyncCommand(client->redis, answered, client, "INCR count") != REDIS_OK) return;
    client->sent += 1;
  }
}

static void answered(redisAsyncContext *redis, void *given, void *context) {
  struct client *client = context;
  redisReply *reply = given;
  int is_next = reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == client->received + 1;
  if (is_next) client->received += 1;
  if (!is_next || client->received == client->wanted) redisAsyncDisconnect(redis);
  else fill(client);
}

static void ended(const redisAsyncContext *redis, int status) {
  struct client *client = redis->data;
  (void)status;
  client->over(client->argument, client->received);
  free(client);
}

void *guest_redis_new(const char *path, long count, long depth, guest_redis_over over, void *argument) {
  redisAsyncContext *redis = redisAsyncConnectUnix(path);
  struct client *client = calloc(1, sizeof *client);
  if (!redis || redis->err || !client) abort();
  *client = (struct client){redis, count, depth, 0, 0, over, argument};
  redis->data = client;
  return client;
}

static void begin(struct client *client) {
  redisAsyncSetDisconnectCallback(client->redis, ended);
  redisAsyncCommand(client->redis, NULL, NULL, "DEL count");
  fill(client);
}

int guest_redis_on_libevent(void *client, struct event_base *base) {
  if (redisLibeventAttach(((struct client *)client)->redis, base) != REDIS_OK) return -1;
  begin(client);
  return 0;
}

#if __has_include(<glib.h>)

#include <hiredis/adapters/glib.h>

void *guest_redis_on_glib(void *client, void *context) {
  GSource *source = redis_source_new(((struct client *)client)->redis);
  g_source_attach(source, context);
  begin(client);
  return source;
}

#else

void *guest_redis_on_glib(void *client, void *context) {
  (void)client, (void)context;
  return NULL;
}

#endif
#else

void *guest_redis_new(const char *path, long count, long depth, guest_redis_over over, void *argument) {
  (void)path, (void)count, (void)depth, (void)over, (void)argument;
  return NULL;
}

int guest_redis_on_libevent(void *client, struct event_base *base) {
  (void)client, (void)base;
  return -1;
}

void *guest_redis_on_glib(void *client, void *context) {
  (void)client, (void)context;
  return NULL;
}

#endif
