#pragma once

#include <openssl/ssl.h>

#include "rondo_tls.h"

// What the streams of one side share. *constant*
struct context {
  SSL_CTX *ssl;
  // ALPN's, each after a byte with its length.
  unsigned char *protocols;
  unsigned length;
};

// A session of a context, with the client's check of whom it talks to: NULL for a server's side. NULL if there is no
// memory for it.
SSL *rondo_tls_session(struct context *context, const char *host);

// Why a session has failed, of OpenSSL's first error: 0 for none, and then of whether there was no memory.
struct rondo_tls_failure rondo_tls_why(SSL *ssl, unsigned long cause, int is_short);
