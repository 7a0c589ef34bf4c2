// TLS on libevent's bufferevents, as connections that a loop hosts, and on bytes that the caller moves. The headers of
// libevent and OpenSSL stay out of Swift's sight, where a program may have them under another module's name.
#pragma once

#include <stddef.h>

struct event_base;

// Why there is no context.
enum rondo_tls_refused {
  RONDO_TLS_REFUSED_CHAIN = 1,
  RONDO_TLS_REFUSED_KEY,
  // The key is not that of the chain's first certificate.
  RONDO_TLS_REFUSED_PAIR,
  RONDO_TLS_REFUSED_AUTHORITIES,
  RONDO_TLS_REFUSED_MEMORY
};

// What OpenSSL has to say of it.
struct rondo_tls_refusal {
  int what;
  char text[160];
};

// Each the context, or NULL and a refusal. `protocols` are ALPN's, each after a byte with its length. Any thread.
void *rondo_tls_server_context(const char *chain, const char *key, const unsigned char *protocols, unsigned length,
                               struct rondo_tls_refusal *refusal);
// `authorities` is a file; NULL for what the system trusts.
void *rondo_tls_client_context(const char *authorities, const unsigned char *protocols, unsigned length,
                               struct rondo_tls_refusal *refusal);

// After the last of its connections.
void rondo_tls_context_free(void *context);

// What a connection tells its owner, in the callbacks of its event base. The owner may free it there.
enum rondo_tls_event {
  // The handshake is over.
  RONDO_TLS_CONNECTED,
  // There are bytes to take.
  RONDO_TLS_RECEIVED,
  // What is queued has come down to the low mark, or is gone.
  RONDO_TLS_WROTE,
  // The peer's close_notify.
  RONDO_TLS_END,
  // It is over; there is a failure to ask for.
  RONDO_TLS_FAILED
};

// Whether it is an address of IPv4 or IPv6.
int rondo_tls_is_address(const char *host);

// A connection on an open, non-blocking socket, which stays the caller's. NULL if there is no memory for it.
//
// `host` is whom the certificate has to be of, a name or an address; NULL for a server's side.
void *rondo_tls_new(struct event_base *base, void *context, int descriptor, const char *host, size_t low_mark,
                    void (*call)(void *owner, int event), void *owner);

// Says goodbye if nothing is left to be sent, and calls no more. The descriptor is watched no longer.
void rondo_tls_free(void *connection);

// How many bytes there are to take, and the first of them: how many were taken.
size_t rondo_tls_received(void *connection);
size_t rondo_tls_take(void *connection, void *room, size_t size);

// Queues a copy. 0, or -1 if there is no memory for it.
int rondo_tls_send(void *connection, const void *bytes, size_t count);
size_t rondo_tls_queued(void *connection);

// Has nothing more read until it is resumed. A handshake goes on.
void rondo_tls_pause(void *connection);
void rondo_tls_resume(void *connection);

// Has close_notify sent after what is queued.
void rondo_tls_finish(void *connection);
int rondo_tls_has_finished(void *connection);

// How many bytes have gone through the socket, both ways: an idle connection moves none.
unsigned long long rondo_tls_moved(void *connection);

// Of a connection or a stream: the protocol that ALPN has chosen, not terminated, of `*length` bytes; NULL for none.
const unsigned char *rondo_tls_protocol(void *connection, unsigned *length);
// "TLSv1.3".
const char *rondo_tls_version(void *connection);

enum rondo_tls_reason {
  // A system call's errno is the number.
  RONDO_TLS_SYSTEM = 1,
  // The peer has closed the connection without close_notify.
  RONDO_TLS_TRUNCATED,
  // The peer's certificate: the number is X509_verify_cert's.
  RONDO_TLS_CERTIFICATE,
  // An alert of the peer's, by its number.
  RONDO_TLS_ALERT,
  // What the peer sent is not TLS, or not as it should be.
  RONDO_TLS_PROTOCOL
};

struct rondo_tls_failure {
  int reason;
  int number;
  char text[160];
};

// Once, after RONDO_TLS_FAILED.
struct rondo_tls_failure rondo_tls_failure(void *connection);

// A stream knows no descriptor: its caller moves what it reads and writes. One call at a time, on any thread.

// A client's side for a host, as above, or a server's; NULL if there is no memory for it.
void *rondo_tls_stream_new(void *context, const char *host);
void rondo_tls_stream_free(void *stream);

// What the peer has sent, of which a call takes a beginning, and whether that is all.
struct rondo_tls_input {
  const void *bytes;
  size_t count;
  int has_ended;
};

enum rondo_tls_outcome {
  RONDO_TLS_DONE = 1,
  // All of the input was taken, and there is to be more.
  RONDO_TLS_WANTS,
  // The peer's close_notify.
  RONDO_TLS_ENDED,
  // There is a failure to ask for.
  RONDO_TLS_BROKEN
};

// Each an outcome. Any may have made output.
int rondo_tls_stream_shake(void *stream, struct rondo_tls_input *input);
// Gives away as many bytes as there are, at most `limit`; with that many it is done.
int rondo_tls_stream_read(void *stream, struct rondo_tls_input *input, size_t limit,
                          void (*took)(void *inbox, const void *bytes, size_t count), void *inbox);
// Makes records of all bytes.
int rondo_tls_stream_write(void *stream, const void *bytes, size_t count);

// Makes close_notify of it, once, if the handshake was done and nothing has failed.
void rondo_tls_stream_finish(void *stream);

// What is to be sent to the peer, and that a beginning of it was.
const void *rondo_tls_stream_output(void *stream, size_t *count);
void rondo_tls_stream_sent(void *stream, size_t count);

struct rondo_tls_failure rondo_tls_stream_failure(void *stream);

// Numbers of X509_verify_cert's that have a name of their own.
int rondo_tls_problem_expired(void);
int rondo_tls_problem_not_yet_valid(void);
int rondo_tls_problem_wrong_host(void);
int rondo_tls_problem_wrong_address(void);
// Whether it says that no trusted authority vouches for the certificate.
int rondo_tls_is_untrusted(int number);
