// TLS by OpenSSL on bytes that the caller moves. OpenSSL's headers stay out of Swift's sight, where a program may have
// them under another module's name.
#pragma once

#include <stddef.h>

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

// After the last of its streams.
void rondo_tls_context_free(void *context);

// Whether it is an address of IPv4 or IPv6.
int rondo_tls_is_address(const char *host);

enum rondo_tls_reason {
  RONDO_TLS_NO_MEMORY = 1,
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

// A stream knows no descriptor: its caller moves what it reads and writes. One call at a time, on any thread.

// A client's side for `host`, a name or an address that the certificate has to be of; a server's side for NULL. NULL if
// there is no memory for it.
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
  // The call has taken as many records as one may, and there is more input.
  RONDO_TLS_PAUSED,
  // The peer's close_notify.
  RONDO_TLS_ENDED,
  // There is a failure to ask for.
  RONDO_TLS_BROKEN
};

// Each an outcome. Any may have made output.
int rondo_tls_stream_shake(void *stream, struct rondo_tls_input *input);
// Gives away bytes, at most `limit`. With that many it is done, or with as many records as one call takes.
int rondo_tls_stream_read(void *stream, struct rondo_tls_input *input, size_t limit,
                          void (*took)(void *inbox, const void *bytes, size_t count), void *inbox);
// Makes records of all bytes. If a message of the peer's has come in part, OpenSSL reads that to its end first.
int rondo_tls_stream_write(void *stream, struct rondo_tls_input *input, const void *bytes, size_t count);

// Makes close_notify of it, once, if the handshake was done and nothing has failed.
void rondo_tls_stream_finish(void *stream);

// What is to be sent to the peer, and that a beginning of it was.
const void *rondo_tls_stream_output(void *stream, size_t *count);
void rondo_tls_stream_sent(void *stream, size_t count);

struct rondo_tls_failure rondo_tls_stream_failure(void *stream);

// The protocol that ALPN has chosen, not terminated, of `*length` bytes; NULL for none.
const unsigned char *rondo_tls_stream_protocol(void *stream, unsigned *length);
// "TLSv1.3".
const char *rondo_tls_stream_version(void *stream);

// Numbers of X509_verify_cert's that have a name of their own.
int rondo_tls_problem_expired(void);
int rondo_tls_problem_not_yet_valid(void);
int rondo_tls_problem_wrong_host(void);
int rondo_tls_problem_wrong_address(void);
// Whether it says that no trusted authority vouches for the certificate.
int rondo_tls_is_untrusted(int number);
