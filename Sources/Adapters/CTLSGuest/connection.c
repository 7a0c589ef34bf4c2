#include "guest_tls.h"

#ifdef RONDO_TLS

#include "context.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/bufferevent_struct.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

// *loop thread*
struct connection {
  SSL *ssl;
  struct bufferevent *events;
  int descriptor;
  // Waits for room for close_notify alone; most often there is some.
  struct event *room;
  void (*call)(void *owner, int event);
  void *owner;
  // The errno of the last transfer, if it failed, and whether it found the peer's end.
  int error;
  int has_found_end;
  unsigned long long moved;
  int is_open;
  // close_notify is to be sent, has been sent.
  int finishes;
  int has_finished;
  int has_failed;
};

// What OpenSSL reads and writes by. Its own would raise SIGPIPE, and keeps no errno.

static int transfer_failed(BIO *bio, struct connection *connection, int retry) {
  if (errno == EAGAIN) {
    BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
  } else {
    connection->error = errno;
  }
  return -1;
}

static int transfer_out(BIO *bio, const char *bytes, int count) {
  struct connection *connection = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  connection->error = 0;
  ssize_t sent;
  do {
    sent = send(connection->descriptor, bytes, (size_t)count, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return transfer_failed(bio, connection, BIO_FLAGS_WRITE);
  connection->moved += (unsigned long long)sent;
  return (int)sent;
}

static int transfer_in(BIO *bio, char *room, int size) {
  struct connection *connection = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  connection->error = 0;
  ssize_t received;
  do {
    received = recv(connection->descriptor, room, (size_t)size, 0);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return transfer_failed(bio, connection, BIO_FLAGS_READ);
  if (received == 0) connection->has_found_end = 1;
  connection->moved += (unsigned long long)received;
  return (int)received;
}

static long transfer_control(BIO *bio, int command, long number, void *pointer) {
  (void)number;
  struct connection *connection = BIO_get_data(bio);
  switch (command) {
  case BIO_C_GET_FD:
    if (pointer) *(int *)pointer = connection->descriptor;
    return connection->descriptor;
  case BIO_CTRL_EOF:
    return connection->has_found_end;
  case BIO_CTRL_FLUSH:
  case BIO_CTRL_SET_CLOSE:
    return 1;
  default:
    return 0;
  }
}

static int transfer_begin(BIO *bio) {
  BIO_set_init(bio, 1);
  return 1;
}

static BIO_METHOD *transfer;

static void make_transfer(void) {
  transfer = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "Rondo");
  if (!transfer) return;
  BIO_meth_set_create(transfer, transfer_begin);
  BIO_meth_set_write(transfer, transfer_out);
  BIO_meth_set_read(transfer, transfer_in);
  BIO_meth_set_ctrl(transfer, transfer_control);
}

static BIO *transfer_new(struct connection *connection) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_transfer);
  BIO *bio = transfer ? BIO_new(transfer) : NULL;
  if (bio) BIO_set_data(bio, connection);
  return bio;
}

// libevent waits for the socket, though OpenSSL may have bytes of a record left that it read before.
static void read_the_rest(struct connection *connection) {
  if ((bufferevent_get_enabled(connection->events) & EV_READ) && SSL_pending(connection->ssl) > 0) {
    event_active(&connection->events->ev_read, EV_READ, 0);
  }
}

static void on_room(evutil_socket_t descriptor, short what, void *argument);

static void finish_if_sent(struct connection *connection) {
  if (!connection->finishes || connection->has_finished || connection->has_failed || !connection->is_open) return;
  if (evbuffer_get_length(bufferevent_get_output(connection->events))) return;
  ERR_clear_error();
  int outcome = SSL_shutdown(connection->ssl);
  if (outcome < 0 && SSL_get_error(connection->ssl, outcome) == SSL_ERROR_WANT_WRITE) {
    if (!connection->room) {
      struct event_base *base = bufferevent_get_base(connection->events);
      connection->room = event_new(base, connection->descriptor, EV_WRITE, on_room, connection);
    }
    if (connection->room && event_add(connection->room, NULL) == 0) return;
  }
  // A peer that has gone is told by what is read.
  ERR_clear_error();
  connection->has_finished = 1;
}

// The callbacks. What is called may free the connection, so it is called last.

static void on_room(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor, (void)what;
  struct connection *connection = argument;
  finish_if_sent(connection);
  connection->call(connection->owner, RONDO_TLS_WROTE);
}

static void on_read(struct bufferevent *events, void *argument) {
  (void)events;
  struct connection *connection = argument;
  read_the_rest(connection);
  connection->call(connection->owner, RONDO_TLS_RECEIVED);
}

static void on_write(struct bufferevent *events, void *argument) {
  (void)events;
  struct connection *connection = argument;
  finish_if_sent(connection);
  connection->call(connection->owner, RONDO_TLS_WROTE);
}

static void on_event(struct bufferevent *events, short what, void *argument) {
  struct connection *connection = argument;
  if (what & BEV_EVENT_CONNECTED) {
    connection->is_open = 1;
    finish_if_sent(connection);
    connection->call(connection->owner, RONDO_TLS_CONNECTED);
  } else if (what & BEV_EVENT_EOF) {
    // libevent would write no more, either.
    bufferevent_disable(events, EV_READ);
    bufferevent_enable(events, EV_WRITE);
    connection->call(connection->owner, RONDO_TLS_END);
  } else if (what & BEV_EVENT_ERROR) {
    connection->has_failed = 1;
    bufferevent_disable(events, EV_READ | EV_WRITE);
    connection->call(connection->owner, RONDO_TLS_FAILED);
  }
}

void *rondo_tls_new(struct event_base *base, void *context, int descriptor, const char *host, size_t low_mark,
                    void (*call)(void *owner, int event), void *owner) {
  struct connection *connection = calloc(1, sizeof *connection);
  if (!connection) return NULL;
  *connection = (struct connection){.descriptor = descriptor, .call = call, .owner = owner};
  connection->ssl = rondo_tls_session(context, host);
  BIO *bio = connection->ssl ? transfer_new(connection) : NULL;
  if (bio) {
    SSL_set_bio(connection->ssl, bio, bio);
    // Deferred, so that no callback can free what libevent is in. It closes neither socket nor SSL: what is queued for
    // a callback would put that off.
    connection->events = bufferevent_openssl_socket_new(
        base, descriptor, connection->ssl, host ? BUFFEREVENT_SSL_CONNECTING : BUFFEREVENT_SSL_ACCEPTING,
        BEV_OPT_DEFER_CALLBACKS);
  }
  if (!connection->events) {
    ERR_clear_error();
    SSL_free(connection->ssl);
    free(connection);
    return NULL;
  }
  bufferevent_setwatermark(connection->events, EV_WRITE, low_mark, 0);
  bufferevent_setcb(connection->events, on_read, on_write, on_event, connection);
  bufferevent_enable(connection->events, EV_READ | EV_WRITE);
  return connection;
}

// A socket that is closed with bytes unread resets the connection, and may take with it what the peer has yet to read: an
// alert that says why, or our goodbye. The server's tickets alone are such bytes.
static void discard_input(int descriptor) {
  char room[4096];
  for (int left = 16; left > 0 && recv(descriptor, room, sizeof room, MSG_DONTWAIT) > 0; left--) {}
}

void rondo_tls_free(void *pointer) {
  struct connection *connection = pointer;
  struct bufferevent *events = connection->events;
  if (!connection->has_failed) {
    connection->finishes = 1;
    finish_if_sent(connection);
  }
  discard_input(connection->descriptor);
  // libevent would keep one of them while the other direction waits for it.
  event_del(&events->ev_read);
  event_del(&events->ev_write);
  if (connection->room) event_free(connection->room);
  bufferevent_free(events);
  SSL_free(connection->ssl);
  ERR_clear_error();
  free(connection);
}

static struct evbuffer *input(void *connection) {
  return bufferevent_get_input(((struct connection *)connection)->events);
}

static struct evbuffer *output(void *connection) {
  return bufferevent_get_output(((struct connection *)connection)->events);
}

size_t rondo_tls_received(void *connection) { return evbuffer_get_length(input(connection)); }

size_t rondo_tls_take(void *connection, void *room, size_t size) {
  int taken = evbuffer_remove(input(connection), room, size);
  return taken < 0 ? 0 : (size_t)taken;
}

int rondo_tls_send(void *connection, const void *bytes, size_t count) {
  return evbuffer_add(output(connection), bytes, count);
}

size_t rondo_tls_queued(void *connection) { return evbuffer_get_length(output(connection)); }

void rondo_tls_pause(void *connection) { bufferevent_disable(((struct connection *)connection)->events, EV_READ); }

void rondo_tls_resume(void *connection) {
  bufferevent_enable(((struct connection *)connection)->events, EV_READ);
  read_the_rest(connection);
}

void rondo_tls_finish(void *pointer) {
  struct connection *connection = pointer;
  connection->finishes = 1;
  finish_if_sent(connection);
}

int rondo_tls_has_finished(void *connection) { return ((struct connection *)connection)->has_finished; }

unsigned long long rondo_tls_moved(void *connection) { return ((struct connection *)connection)->moved; }

struct rondo_tls_failure rondo_tls_failure(void *pointer) {
  struct connection *connection = pointer;
  // The last one it gives is what came first: the cause.
  unsigned long cause = 0;
  for (unsigned long next; (next = bufferevent_get_openssl_error(connection->events));) {
    if (ERR_GET_LIB(next)) cause = next;
  }
  return rondo_tls_why(connection->ssl, cause, connection->error);
}

#endif
