// libcurl's multi socket interface, without its variadic functions.

#include "guests.h"

#include <stddef.h>

#if __has_include(<curl/curl.h>)

#include <curl/curl.h>
#include <stdint.h>
#include <stdlib.h>

struct multi {
  CURLM *curl;
  guest_curl_socket socket;
  guest_curl_timer timer;
  guest_curl_over over;
  void *context;
  struct transfer *first;
};

struct transfer {
  struct multi *multi;
  CURL *curl;
  int name;
  long bytes;
  struct transfer *next;
};

static int on_socket(CURL *curl, curl_socket_t descriptor, int what, void *argument, void *assigned) {
  (void)curl;
  (void)assigned;
  struct multi *multi = argument;
  int wanted = what == CURL_POLL_IN ? 1 : what == CURL_POLL_OUT ? 2 : what == CURL_POLL_INOUT ? 3 : 0;
  multi->socket(multi->context, descriptor, wanted);
  return 0;
}

static int on_timer(CURLM *curl, long milliseconds, void *argument) {
  (void)curl;
  struct multi *multi = argument;
  multi->timer(multi->context, milliseconds);
  return 0;
}

static size_t on_data(char *data, size_t size, size_t count, void *argument) {
  (void)data;
  struct transfer *transfer = argument;
  transfer->bytes += (long)(size * count);
  return size * count;
}

void *guest_curl_new(guest_curl_socket socket, guest_curl_timer timer, guest_curl_over over, void *context) {
  struct multi *multi = calloc(1, sizeof *multi);
  multi->curl = curl_multi_init();
  multi->socket = socket;
  multi->timer = timer;
  multi->over = over;
  multi->context = context;
  curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
  curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
  return multi;
}

static void transfer_free(struct transfer *transfer) {
  for (struct transfer **place = &transfer->multi->first; *place; place = &(*place)->next) {
    if (*place != transfer) continue;
    *place = transfer->next;
    break;
  }
  curl_multi_remove_handle(transfer->multi->curl, transfer->curl);
  curl_easy_cleanup(transfer->curl);
  free(transfer);
}

void guest_curl_free(void *opaque) {
  struct multi *multi = opaque;
  while (multi->first) transfer_free(multi->first);
  curl_multi_cleanup(multi->curl);
  free(multi);
}

void guest_curl_get(void *opaque, int name, const char *url) {
  struct multi *multi = opaque;
  struct transfer *transfer = calloc(1, sizeof *transfer);
  transfer->multi = multi;
  transfer->name = name;
  transfer->next = multi->first;
  multi->first = transfer;
  transfer->curl = curl_easy_init();
  curl_easy_setopt(transfer->curl, CURLOPT_URL, url);
  curl_easy_setopt(transfer->curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(transfer->curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(transfer->curl, CURLOPT_WRITEFUNCTION, on_data);
  curl_easy_setopt(transfer->curl, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt(transfer->curl, CURLOPT_PRIVATE, transfer);
  curl_multi_add_handle(multi->curl, transfer->curl);
}

void guest_curl_act(void *opaque, int descriptor, int ready) {
  struct multi *multi = opaque;
  int flags = (ready & 1 ? CURL_CSELECT_IN : 0) | (ready & 2 ? CURL_CSELECT_OUT : 0);
  int left;
  curl_multi_socket_action(multi->curl, descriptor < 0 ? CURL_SOCKET_TIMEOUT : descriptor, flags, &left);
  for (CURLMsg *message; (message = curl_multi_info_read(multi->curl, &left));) {
    if (message->msg != CURLMSG_DONE) continue;
    char *private = NULL;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
    struct transfer *transfer = (struct transfer *)private;
    long status = 0;
    curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
    int name = transfer->name, error = (int)message->data.result;
    long bytes = transfer->bytes;
    // The message goes with it.
    transfer_free(transfer);
    multi->over(multi->context, name, error, status, bytes);
  }
}

#else

void *guest_curl_new(guest_curl_socket socket, guest_curl_timer timer, guest_curl_over over, void *context) {
  (void)socket, (void)timer, (void)over, (void)context;
  return NULL;
}

void guest_curl_free(void *multi) { (void)multi; }

void guest_curl_get(void *multi, int name, const char *url) { (void)multi, (void)name, (void)url; }

void guest_curl_act(void *multi, int descriptor, int ready) { (void)multi, (void)descriptor, (void)ready; }

#endif
