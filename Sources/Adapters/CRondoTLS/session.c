#include "rondo_tls.h"

#ifdef RONDO_TLS

#include "context.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

int rondo_tls_is_address(const char *host) {
  unsigned char address[16];
  return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

// Whom the client wants to talk to: for the server's choice of a certificate, and for the check of it.
static int set_host(SSL *ssl, const char *host) {
  if (rondo_tls_is_address(host)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
  // What a name may be has been checked: an empty one would turn the check off, ".com" would take any name below it.
  // A subject's CN counts for nothing, whether there are other names or not: RFC 9525, 6.3.
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

SSL *rondo_tls_session(struct context *context, const char *host) {
  ERR_clear_error();
  SSL *ssl = SSL_new(context->ssl);
  if (ssl && (!host || set_host(ssl, host))) return ssl;
  SSL_free(ssl);
  ERR_clear_error();
  return NULL;
}

static struct rondo_tls_failure failure_new(int reason, int number, const char *text) {
  struct rondo_tls_failure failure = {.reason = reason, .number = number};
  strncpy(failure.text, text ? text : "no reason is known", sizeof failure.text - 1);
  return failure;
}

struct rondo_tls_failure rondo_tls_why(SSL *ssl, unsigned long cause, int is_short) {
  int reason = ERR_GET_REASON(cause);
  if (!cause && is_short) return failure_new(RONDO_TLS_NO_MEMORY, 0, "");
  if (!cause || (ERR_GET_LIB(cause) == ERR_LIB_SSL && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)) {
    return failure_new(RONDO_TLS_TRUNCATED, 0, "");
  }
  if (ERR_GET_LIB(cause) == ERR_LIB_SSL && reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    long result = SSL_get_verify_result(ssl);
    return failure_new(RONDO_TLS_CERTIFICATE, (int)result, X509_verify_cert_error_string(result));
  }
  if (ERR_GET_LIB(cause) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET) {
    int alert = reason - SSL_AD_REASON_OFFSET;
    return failure_new(RONDO_TLS_ALERT, alert, SSL_alert_desc_string_long(alert));
  }
  return failure_new(RONDO_TLS_PROTOCOL, reason, ERR_reason_error_string(cause));
}

int rondo_tls_problem_expired(void) { return X509_V_ERR_CERT_HAS_EXPIRED; }
int rondo_tls_problem_not_yet_valid(void) { return X509_V_ERR_CERT_NOT_YET_VALID; }
int rondo_tls_problem_wrong_host(void) { return X509_V_ERR_HOSTNAME_MISMATCH; }
int rondo_tls_problem_wrong_address(void) { return X509_V_ERR_IP_ADDRESS_MISMATCH; }

int rondo_tls_is_untrusted(int number) {
  switch (number) {
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_CERT_UNTRUSTED:
    return 1;
  default:
    return 0;
  }
}

#endif
