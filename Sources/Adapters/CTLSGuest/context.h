#pragma once

#include <openssl/ssl.h>

// What the connections of one side share. *constant*
struct context {
  SSL_CTX *ssl;
  // ALPN's, each after a byte with its length.
  unsigned char *protocols;
  unsigned length;
};
