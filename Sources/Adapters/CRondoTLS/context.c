#include "rondo_tls.h"

#ifdef RONDO_TLS

#include "context.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

// What OpenSSL complained of first: the cause, before those that only pass it on.
static void *refuse(struct context *context, int what, struct rondo_tls_refusal *refusal) {
  unsigned long error = ERR_peek_error();
  const char *text = ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
  refusal->what = what;
  strncpy(refusal->text, text ? text : "no reason is known", sizeof refusal->text - 1);
  refusal->text[sizeof refusal->text - 1] = 0;
  ERR_clear_error();
  rondo_tls_context_free(context);
  return NULL;
}

// Without a function for it, OpenSSL would ask for an encrypted key's password on the terminal.
static int no_password(char *room, int size, int is_writing, void *argument) {
  (void)room, (void)size, (void)is_writing, (void)argument;
  return -1;
}

static struct context *new(const SSL_METHOD *method, const unsigned char *protocols, unsigned length) {
  ERR_clear_error();
  struct context *context = calloc(1, sizeof *context);
  if (!context) return NULL;
  context->ssl = SSL_CTX_new(method);
  context->protocols = malloc(length + 1);
  if (!context->ssl || !context->protocols) {
    rondo_tls_context_free(context);
    return NULL;
  }
  if (length) memcpy(context->protocols, protocols, length);
  context->length = length;
  SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION);
  SSL_CTX_set_options(context->ssl, SSL_OP_NO_RENEGOTIATION);
  // Connections that wait hold no buffers, and sessions are kept by their clients, in tickets.
  SSL_CTX_set_mode(context->ssl, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context->ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_default_passwd_cb(context->ssl, no_password);
  return context;
}

// The server's choice, in its own order. A client that offers others alone is refused: RFC 7301, 3.2.
static int choose(SSL *ssl, const unsigned char **chosen, unsigned char *chosen_length, const unsigned char *offered,
                  unsigned offered_length, void *argument) {
  (void)ssl;
  struct context *context = argument;
  unsigned char *found;
  int outcome = SSL_select_next_proto(&found, chosen_length, context->protocols, context->length, offered, offered_length);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void *rondo_tls_server_context(const char *chain, const char *key, const unsigned char *protocols, unsigned length,
                               struct rondo_tls_refusal *refusal) {
  struct context *context = new(TLS_server_method(), protocols, length);
  if (!context) return refuse(NULL, RONDO_TLS_REFUSED_MEMORY, refusal);
  if (SSL_CTX_use_certificate_chain_file(context->ssl, chain) != 1) {
    return refuse(context, RONDO_TLS_REFUSED_CHAIN, refusal);
  }
  if (SSL_CTX_use_PrivateKey_file(context->ssl, key, SSL_FILETYPE_PEM) != 1) {
    unsigned long error = ERR_peek_error();
    int is_mismatch = ERR_GET_LIB(error) == ERR_LIB_X509 && (ERR_GET_REASON(error) == X509_R_KEY_VALUES_MISMATCH ||
                                                             ERR_GET_REASON(error) == X509_R_KEY_TYPE_MISMATCH);
    return refuse(context, is_mismatch ? RONDO_TLS_REFUSED_PAIR : RONDO_TLS_REFUSED_KEY, refusal);
  }
  if (SSL_CTX_check_private_key(context->ssl) != 1) return refuse(context, RONDO_TLS_REFUSED_PAIR, refusal);
  if (length) SSL_CTX_set_alpn_select_cb(context->ssl, choose, context);
  return context;
}

void *rondo_tls_client_context(const char *authorities, const unsigned char *protocols, unsigned length,
                               struct rondo_tls_refusal *refusal) {
  struct context *context = new(TLS_client_method(), protocols, length);
  if (!context) return refuse(NULL, RONDO_TLS_REFUSED_MEMORY, refusal);
  int is_trusting = authorities ? SSL_CTX_load_verify_locations(context->ssl, authorities, NULL)
                                : SSL_CTX_set_default_verify_paths(context->ssl);
  if (is_trusting != 1) return refuse(context, RONDO_TLS_REFUSED_AUTHORITIES, refusal);
  SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER, NULL);
  // Of this one alone, 0 is success.
  if (length && SSL_CTX_set_alpn_protos(context->ssl, context->protocols, length) != 0) {
    return refuse(context, RONDO_TLS_REFUSED_MEMORY, refusal);
  }
  ERR_clear_error();
  return context;
}

void rondo_tls_context_free(void *pointer) {
  struct context *context = pointer;
  if (!context) return;
  SSL_CTX_free(context->ssl);
  free(context->protocols);
  free(context);
}

#endif
