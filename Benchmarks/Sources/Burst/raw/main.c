#define _GNU_SOURCE
#include <burst.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { most = 64 };

static char rooms[most][burst_room];
static struct sockaddr_storage senders[most];

int main(void) {
  burst_page *page = burst_open();
  struct iovec pieces[most];
  struct mmsghdr messages[most] = {0};
  for (int index = 0; index < most; index++) {
    pieces[index] = (struct iovec){rooms[index], burst_room};
    messages[index].msg_hdr = (struct msghdr){.msg_iov = &pieces[index], .msg_iovlen = 1, .msg_name = &senders[index]};
  }
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(epoll, EPOLL_CTL_ADD, burst_socket, &event);
  for (;;) {
    epoll_wait(epoll, &event, 1, -1);
    for (int index = 0; index < most; index++) messages[index].msg_hdr.msg_namelen = sizeof senders[index];
    int count = recvmmsg(burst_socket, messages, most, MSG_DONTWAIT, NULL);
    for (int index = 0; index < count; index++) burst_took(page, rooms[index], messages[index].msg_len);
  }
}
