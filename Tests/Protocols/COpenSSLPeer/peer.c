// An end of TLS on bytes that its caller moves, for what OpenSSL's command does not send.

#include "peer.h"

#include <malloc.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

struct peer {
  SSL_CTX *context;
  SSL *ssl;
};

// Makes a ticket longer than a record.
static int ticket_data(SSL *ssl, void *argument) {
  (void)argument;
  static unsigned char data[2000];
  return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), data, sizeof data);
}

struct peer *peer_new(int is_server, int is_old, const char *chain, const char *key) {
  struct peer *peer = calloc(1, sizeof *peer);
  peer->context = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
  if (is_old) SSL_CTX_set_max_proto_version(peer->context, TLS1_2_VERSION);
  if (is_server) {
    SSL_CTX_use_certificate_chain_file(peer->context, chain);
    SSL_CTX_use_PrivateKey_file(peer->context, key, SSL_FILETYPE_PEM);
    SSL_CTX_set_num_tickets(peer->context, 0);
    SSL_CTX_set_session_ticket_cb(peer->context, ticket_data, NULL, NULL);
    SSL_CTX_set_max_send_fragment(peer->context, 512);
  }
  peer->ssl = SSL_new(peer->context);
  SSL_set_bio(peer->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  if (is_server) SSL_set_accept_state(peer->ssl);
  else SSL_set_connect_state(peer->ssl);
  SSL_do_handshake(peer->ssl);
  return peer;
}

void peer_free(struct peer *peer) {
  SSL_free(peer->ssl);
  SSL_CTX_free(peer->context);
  free(peer);
}

int peer_take(struct peer *peer, const void *bytes, size_t count) {
  BIO_write(SSL_get_rbio(peer->ssl), bytes, (int)count);
  return SSL_is_init_finished(peer->ssl) || SSL_do_handshake(peer->ssl) == 1;
}

size_t peer_give(struct peer *peer, void *room, size_t size) {
  int count = BIO_read(SSL_get_wbio(peer->ssl), room, (int)size);
  return count > 0 ? (size_t)count : 0;
}

void peer_write(struct peer *peer, const void *bytes, size_t count) {
  SSL_write(peer->ssl, bytes, (int)count);
}

void peer_renew_keys(struct peer *peer) {
  SSL_key_update(peer->ssl, SSL_KEY_UPDATE_REQUESTED);
  SSL_do_handshake(peer->ssl);
}

void peer_renegotiate(struct peer *peer) {
  SSL_renegotiate(peer->ssl);
  SSL_do_handshake(peer->ssl);
}

void peer_send_ticket(struct peer *peer) {
  SSL_new_session_ticket(peer->ssl);
  SSL_do_handshake(peer->ssl);
}

size_t peer_read(struct peer *peer, void *room, size_t size) {
  size_t count = 0;
  return SSL_read_ex(peer->ssl, room, size, &count) == 1 ? count : 0;
}

size_t peer_heap(void) {
  struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}
