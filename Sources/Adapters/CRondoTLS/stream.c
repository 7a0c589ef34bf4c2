#include "rondo_tls.h"

#ifdef RONDO_TLS

#include "context.h"

#include <openssl/err.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// How many records without data one call takes, two reads each, and how many with data: a peer sends such for as long as
// it likes, and new keys cost more than a system call.
static const int most_reads = 16;
static const int most_records = 64;

// *the caller's lock*
struct stream {
  SSL *ssl;
  // What the peer has sent; for the length of a call.
  struct rondo_tls_input *input;
  // How often OpenSSL may read on.
  int reads_left;
  // What is to be sent to the peer: `count` bytes from `start` on. NULL while there are none.
  unsigned char *output;
  size_t start, count, size;
  // There was no memory for it.
  int is_short;
  int is_open;
  int has_finished;
  // OpenSSL is not to be asked again.
  int has_failed;
  struct rondo_tls_failure failure;
};

// What OpenSSL reads and writes by. What it writes is always taken, so that no call of its waits for room.

static int write_output(BIO *bio, const char *bytes, int signed_count) {
  struct stream *stream = BIO_get_data(bio);
  size_t count = (size_t)signed_count;
  if (stream->size - stream->start - stream->count < count) {
    // Twice as much as waits, so that what waits is not copied for each record.
    size_t size = 2 * stream->count + count;
    unsigned char *output = malloc(size);
    if (!output) {
      stream->is_short = 1;
      return -1;
    }
    if (stream->count) memcpy(output, stream->output + stream->start, stream->count);
    free(stream->output);
    stream->output = output;
    stream->start = 0;
    stream->size = size;
  }
  memcpy(stream->output + stream->start + stream->count, bytes, count);
  stream->count += count;
  return signed_count;
}

static int read_input(BIO *bio, char *room, int size) {
  struct stream *stream = BIO_get_data(bio);
  struct rondo_tls_input *input = stream->input;
  BIO_clear_retry_flags(bio);
  size_t count = input->count < (size_t)size ? input->count : (size_t)size;
  if (count ? stream->reads_left-- <= 0 : !input->has_ended) {
    BIO_set_retry_read(bio);
    return -1;
  }
  if (count) memcpy(room, input->bytes, count);
  input->bytes = (const char *)input->bytes + count;
  input->count -= count;
  return (int)count;
}

static long control(BIO *bio, int command, long number, void *pointer) {
  (void)number, (void)pointer;
  struct rondo_tls_input *input = ((struct stream *)BIO_get_data(bio))->input;
  switch (command) {
  case BIO_CTRL_EOF:
    return input->has_ended && !input->count;
  case BIO_CTRL_FLUSH:
  case BIO_CTRL_SET_CLOSE:
    return 1;
  default:
    return 0;
  }
}

static int begin(BIO *bio) {
  BIO_set_init(bio, 1);
  return 1;
}

static BIO_METHOD *memory;

static void make_memory(void) {
  memory = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "Rondo's memory");
  if (!memory) return;
  BIO_meth_set_create(memory, begin);
  BIO_meth_set_write(memory, write_output);
  BIO_meth_set_read(memory, read_input);
  BIO_meth_set_ctrl(memory, control);
}

void *rondo_tls_stream_new(void *context, const char *host) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_memory);
  struct stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  stream->ssl = rondo_tls_session(context, host);
  BIO *bio = stream->ssl && memory ? BIO_new(memory) : NULL;
  if (!bio) {
    rondo_tls_stream_free(stream);
    return NULL;
  }
  BIO_set_data(bio, stream);
  SSL_set_bio(stream->ssl, bio, bio);
  if (host) SSL_set_connect_state(stream->ssl);
  else SSL_set_accept_state(stream->ssl);
  return stream;
}

void rondo_tls_stream_free(void *pointer) {
  struct stream *stream = pointer;
  struct rondo_tls_input none = {0};
  stream->input = &none;
  SSL_free(stream->ssl);
  ERR_clear_error();
  free(stream->output);
  free(stream);
}

// What a call has come to that has not succeeded.
static int outcome_of(struct stream *stream, int result) {
  int error = SSL_get_error(stream->ssl, result);
  if (error == SSL_ERROR_WANT_READ) return stream->input->count ? RONDO_TLS_PAUSED : RONDO_TLS_WANTS;
  if (error == SSL_ERROR_ZERO_RETURN) return RONDO_TLS_ENDED;
  // The first one is the cause.
  unsigned long cause = 0;
  for (unsigned long next; (next = ERR_get_error());) {
    if (!cause && ERR_GET_LIB(next)) cause = next;
  }
  stream->has_failed = 1;
  stream->failure = rondo_tls_why(stream->ssl, cause, stream->is_short);
  return RONDO_TLS_BROKEN;
}

static int prepare(struct stream *stream, struct rondo_tls_input *input) {
  stream->input = input;
  stream->reads_left = most_reads;
  ERR_clear_error();
  return !stream->has_failed;
}

int rondo_tls_stream_shake(void *pointer, struct rondo_tls_input *input) {
  struct stream *stream = pointer;
  if (!prepare(stream, input)) return RONDO_TLS_BROKEN;
  int result = SSL_do_handshake(stream->ssl);
  if (result != 1) return outcome_of(stream, result);
  stream->is_open = 1;
  return RONDO_TLS_DONE;
}

int rondo_tls_stream_read(void *pointer, struct rondo_tls_input *input, size_t limit,
                          void (*took)(void *inbox, const void *bytes, size_t count), void *inbox) {
  struct stream *stream = pointer;
  char room[16384];
  for (int records = 0; records < most_records && limit > 0; records++) {
    size_t count;
    if (!prepare(stream, input)) return RONDO_TLS_BROKEN;
    if (SSL_read_ex(stream->ssl, room, limit < sizeof room ? limit : sizeof room, &count) != 1) {
      return outcome_of(stream, 0);
    }
    took(inbox, room, count);
    limit -= count;
  }
  return RONDO_TLS_DONE;
}

int rondo_tls_stream_write(void *pointer, struct rondo_tls_input *input, const void *bytes, size_t count) {
  struct stream *stream = pointer;
  if (!prepare(stream, input)) return RONDO_TLS_BROKEN;
  return SSL_write_ex(stream->ssl, bytes, count, &count) == 1 ? RONDO_TLS_DONE : outcome_of(stream, 0);
}

void rondo_tls_stream_finish(void *pointer) {
  struct stream *stream = pointer;
  struct rondo_tls_input none = {0};
  if (!stream->is_open || stream->has_finished || !prepare(stream, &none)) return;
  stream->has_finished = 1;
  SSL_shutdown(stream->ssl);
  ERR_clear_error();
}

const void *rondo_tls_stream_output(void *pointer, size_t *count) {
  struct stream *stream = pointer;
  *count = stream->count;
  return stream->output + stream->start;
}

void rondo_tls_stream_sent(void *pointer, size_t count) {
  struct stream *stream = pointer;
  stream->start += count;
  stream->count -= count;
  if (stream->count) return;
  // A connection that waits holds no buffers.
  free(stream->output);
  stream->output = NULL;
  stream->start = stream->size = 0;
}

struct rondo_tls_failure rondo_tls_stream_failure(void *stream) { return ((struct stream *)stream)->failure; }

const unsigned char *rondo_tls_stream_protocol(void *stream, unsigned *length) {
  const unsigned char *protocol = NULL;
  SSL_get0_alpn_selected(((struct stream *)stream)->ssl, &protocol, length);
  return protocol;
}

const char *rondo_tls_stream_version(void *stream) { return SSL_get_version(((struct stream *)stream)->ssl); }

#endif
