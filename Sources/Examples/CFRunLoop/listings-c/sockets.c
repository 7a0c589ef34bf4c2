// CFSocket, and sources of version 1, which CoreFoundation on Linux serves by a descriptor.
#ifdef RONDO
#include <rondo/CFRunLoop.h>
#else
#include <CoreFoundation/CoreFoundation.h>
#endif

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void sockets(void);
void connections(void);
void refusals(void);
void without_descriptors(void);
void ports_as_sources(void);

// ------------------------------------------------------------------------------------------------------------- Addresses

static CFDataRef loopback(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return CFDataCreate(NULL, (const UInt8 *)&address, sizeof address);
}

static int port_of(CFDataRef address) {
  if (!address || CFDataGetLength(address) < (CFIndex)sizeof(struct sockaddr_in)) return -1;
  struct sockaddr_in read;
  memcpy(&read, CFDataGetBytePtr(address), sizeof read);
  return ntohs(read.sin_port);
}

static void release_data(CFDataRef data) {
  if (data) CFRelease(data);
}

static int local_port(CFSocketRef socket) {
  CFDataRef address = CFSocketCopyAddress(socket);
  int port = port_of(address);
  release_data(address);
  return port;
}

static int peer_port(CFSocketRef socket) {
  CFDataRef address = CFSocketCopyPeerAddress(socket);
  int port = port_of(address);
  release_data(address);
  return port;
}

// ------------------------------------------------------------------------------------------------------------- Callbacks

struct seen {
  const char *name;
  int calls;
  CFSocketNativeHandle accepted;
  int port;
  int has_address;
};

static void seen(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
  struct seen *seen = info;
  seen->calls++;
  seen->has_address = address != NULL;
  seen->port = port_of(address);
  printf("%s: type %d, valid %d, ", seen->name, (int)type, CFSocketIsValid(socket));
  printf("address %ld, ", address ? (long)CFDataGetLength(address) : -1L);
  switch ((int)type) {
  case kCFSocketAcceptCallBack:
    seen->accepted = *(const CFSocketNativeHandle *)data;
    printf("accepted %d\n", seen->accepted >= 0);
    break;
  case kCFSocketDataCallBack:
    printf("data %ld '%.*s'\n", (long)CFDataGetLength(data), (int)CFDataGetLength(data),
           (const char *)CFDataGetBytePtr(data));
    break;
  case kCFSocketConnectCallBack:
    if (data) printf("error %d\n", (int)*(const SInt32 *)data);
    else printf("connected\n");
    break;
  default:
    printf("data %d\n", data != NULL);
  }
}

static CFSocketRef make(struct seen *info, int type, CFOptionFlags types) {
  CFSocketContext context = {0, info, NULL, NULL, NULL};
  return CFSocketCreate(NULL, PF_INET, type, 0, types, seen, &context);
}

// CoreFoundation's thread is not to see a socket that neither listens nor connects: it calls out without end.
static void serve(CFSocketRef socket) {
  CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, socket, 0);
  CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
  CFRelease(source);
}

// Runs the loop until the socket was called so often in all.
static void until(struct seen *seen, int calls) {
  for (int i = 0; i < 200 && seen->calls < calls; i++) CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.05, true);
}

// --------------------------------------------------------------------------------------------------------------- Servers

void sockets(void) {
  struct seen of_listener = {.name = "listener", .accepted = -1}, of_client = {.name = "client"},
              of_served = {.name = "served"};
  CFSocketRef listener = make(&of_listener, SOCK_STREAM, kCFSocketAcceptCallBack);
  CFDataRef any = loopback(0);
  printf("no address %d\n", port_of(NULL));
  printf("flags %lu\n", (unsigned long)CFSocketGetSocketFlags(listener));
  printf("set %d\n", (int)CFSocketSetAddress(listener, any));
  printf("set again %d\n", (int)CFSocketSetAddress(listener, any));
  printf("set nothing %d\n", (int)CFSocketSetAddress(listener, NULL));
  printf("local %d, peer %d\n", local_port(listener) > 0, peer_port(listener));
  serve(listener);

  CFSocketRef client = make(&of_client, SOCK_STREAM, kCFSocketDataCallBack);
  CFDataRef where = CFSocketCopyAddress(listener);
  printf("connect %d\n", (int)CFSocketConnectToAddress(client, where, 5));
  serve(client);
  printf("peer is the listener %d\n", peer_port(client) == local_port(listener));
  until(&of_listener, 1);
  printf("address is the client's %d\n", of_listener.port == local_port(client));

  CFSocketContext context = {0, &of_served, NULL, NULL, NULL};
  CFSocketRef served = CFSocketCreateWithNative(NULL, of_listener.accepted, kCFSocketReadCallBack, seen, &context);
  printf("flags of the served %lu\n", (unsigned long)CFSocketGetSocketFlags(served));
  CFDataRef hello = CFDataCreate(NULL, (const UInt8 *)"hello", 5);
  printf("send %d\n", (int)CFSocketSendData(served, NULL, hello, 1));
  until(&of_client, 1);
  printf("send back %d\n", (int)CFSocketSendData(client, NULL, hello, 0));
  serve(served);
  until(&of_served, 1);
  char text[16];
  printf("received %d\n", (int)recv(CFSocketGetNative(served), text, sizeof text, 0));
  CFSocketInvalidate(served);
  printf("invalid: native %d, send %d, connect %d, set %d\n", CFSocketGetNative(served),
         (int)CFSocketSendData(served, NULL, hello, 0), (int)CFSocketConnectToAddress(served, where, 0),
         (int)CFSocketSetAddress(served, any));
  printf("invalid: local %d, peer %d\n", local_port(served), peer_port(served));
  until(&of_client, 2);
  printf("client valid %d\n", CFSocketIsValid(client));
  CFSocketInvalidate(client);
  CFSocketInvalidate(listener);
  CFRelease(client), CFRelease(served), CFRelease(listener);
  CFRelease(any), CFRelease(where), CFRelease(hello);
}

static void datagrams(void) {
  struct seen of_near = {.name = "near"}, of_far = {.name = "far"};
  CFSocketRef near = make(&of_near, SOCK_DGRAM, kCFSocketDataCallBack);
  CFSocketRef far = make(&of_far, SOCK_DGRAM, kCFSocketDataCallBack);
  CFDataRef any = loopback(0);
  printf("set %d %d\n", (int)CFSocketSetAddress(near, any), (int)CFSocketSetAddress(far, any));
  serve(near), serve(far);
  CFDataRef where = CFSocketCopyAddress(far);
  CFDataRef word = CFDataCreate(NULL, (const UInt8 *)"datagram", 8);
  printf("send %d\n", (int)CFSocketSendData(near, where, word, 0));
  until(&of_far, 1);
  printf("address is the sender's %d\n", of_far.port == local_port(near));
  printf("unconnected %d\n", (int)CFSocketSendData(near, NULL, word, 0));
  printf("connect %d\n", (int)CFSocketConnectToAddress(near, where, 1));
  printf("connected %d\n", (int)CFSocketSendData(near, NULL, word, 0));
  until(&of_far, 2);
  CFSocketInvalidate(near);
  CFSocketInvalidate(far);
  CFRelease(near), CFRelease(far), CFRelease(any), CFRelease(where), CFRelease(word);
}

// ----------------------------------------------------------------------------------------------------------- Connections

// A listener of ours, whose port is refused once it is closed.
static int listening(int *port) {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(listener, (struct sockaddr *)&address, sizeof address);
  listen(listener, 8);
  socklen_t length = sizeof address;
  getsockname(listener, (struct sockaddr *)&address, &length);
  *port = ntohs(address.sin_port);
  return listener;
}

static void in_background(const char *name, CFOptionFlags types, int port, int calls) {
  struct seen info = {.name = name};
  CFSocketRef socket = make(&info, SOCK_STREAM, types);
  printf("%s: flags %lu\n", name, (unsigned long)CFSocketGetSocketFlags(socket));
  CFDataRef where = loopback(port);
  printf("%s: connect %d\n", name, (int)CFSocketConnectToAddress(socket, where, -1));
  serve(socket);
  until(&info, calls);
  // Nothing more comes.
  CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.05, false);
  printf("%s: calls %d, valid %d\n", name, info.calls, CFSocketIsValid(socket));
  CFSocketInvalidate(socket);
  CFRelease(where), CFRelease(socket);
}

void connections(void) {
  int port, gone;
  int listener = listening(&port);
  close(listening(&gone));
  in_background("connect", kCFSocketConnectCallBack, port, 1);
  in_background("connect and write", kCFSocketConnectCallBack | kCFSocketWriteCallBack, port, 2);
  in_background("connect and data", kCFSocketConnectCallBack | kCFSocketDataCallBack, port, 1);
  in_background("write alone", kCFSocketWriteCallBack, port, 1);

  struct seen info = {.name = "foreground"};
  CFSocketRef socket = make(&info, SOCK_STREAM, kCFSocketConnectCallBack);
  CFDataRef where = loopback(gone), there = loopback(port);
  CFSocketInvalidate(socket);
  CFRelease(socket);
  socket = make(&info, SOCK_STREAM, kCFSocketConnectCallBack);
  printf("connected at once %d\n", (int)CFSocketConnectToAddress(socket, there, 1));
  serve(socket);
  CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.05, false);
  printf("calls %d, blocks %d\n", info.calls, !(fcntl(CFSocketGetNative(socket), F_GETFL) & O_NONBLOCK));
  CFSocketInvalidate(socket);
  CFRelease(socket);

  CFSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, there};
  socket = CFSocketCreateConnectedToSocketSignature(NULL, &signature, kCFSocketNoCallBack, NULL, NULL, 5);
  printf("by signature %d, peer %d\n", socket != NULL, peer_port(socket) == port);
  CFSocketInvalidate(socket);
  CFRelease(socket);
  signature.address = where;
  socket = CFSocketCreateConnectedToSocketSignature(NULL, &signature, kCFSocketNoCallBack, NULL, NULL, 5);
  printf("by signature, refused %d\n", socket == NULL);
  CFDataRef any = loopback(0);
  signature.address = any;
  socket = CFSocketCreateWithSocketSignature(NULL, &signature, kCFSocketNoCallBack, NULL, NULL);
  printf("bound by signature %d %d\n", socket != NULL, local_port(socket) > 0);
  signature.address = there;
  CFSocketRef taken = CFSocketCreateWithSocketSignature(NULL, &signature, kCFSocketNoCallBack, NULL, NULL);
  printf("taken %d\n", taken == NULL);
  CFSocketInvalidate(socket);
  CFRelease(socket), CFRelease(where), CFRelease(there), CFRelease(any);
  close(listener);
  datagrams();
}

// CoreFoundation tells now and then of a connection where there is none, so these are run with Rondo alone.
void refusals(void) {
  int gone;
  close(listening(&gone));
  in_background("refused", kCFSocketConnectCallBack, gone, 1);
  in_background("refused with read", kCFSocketConnectCallBack | kCFSocketReadCallBack, gone, 2);
  in_background("refused with data", kCFSocketConnectCallBack | kCFSocketDataCallBack, gone, 2);
  in_background("refused with write", kCFSocketConnectCallBack | kCFSocketWriteCallBack, gone, 1);
  struct seen info = {.name = "foreground"};
  CFSocketRef socket = make(&info, SOCK_STREAM, kCFSocketConnectCallBack);
  CFDataRef where = loopback(gone);
  printf("refused at once %d\n", (int)CFSocketConnectToAddress(socket, where, 1));
  printf("nowhere %d\n", (int)CFSocketConnectToAddress(socket, NULL, 1));
  printf("nothing %d\n", (int)CFSocketSendData(socket, NULL, NULL, 0));
  CFRelease(where);
  CFSocketInvalidate(socket);
  CFRelease(socket);
  // What neither listens nor connects has nothing to tell.
  socket = make(&info, SOCK_STREAM, kCFSocketConnectCallBack | kCFSocketDataCallBack | kCFSocketWriteCallBack);
  serve(socket);
  printf("idle: result %d, calls %d\n", (int)CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.02, true), info.calls);
  CFSocketInvalidate(socket);
  CFRelease(socket);
}

static double processor_time(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// A connection that no descriptor is left for waits, and the loop does not spin.
void without_descriptors(void) {
  struct seen info = {.name = "listener", .accepted = -1};
  CFSocketRef listener = make(&info, SOCK_STREAM, kCFSocketAcceptCallBack);
  CFDataRef any = loopback(0);
  CFSocketSetAddress(listener, any);
  serve(listener);
  CFDataRef where = CFSocketCopyAddress(listener);
  CFSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, where};
  CFSocketRef client = CFSocketCreateConnectedToSocketSignature(NULL, &signature, kCFSocketNoCallBack, NULL, NULL, 5);
  struct rlimit limit, none;
  getrlimit(RLIMIT_NOFILE, &limit);
  none = limit;
  none.rlim_cur = 3;
  setrlimit(RLIMIT_NOFILE, &none);
  double before = processor_time();
  CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1, false);
  printf("calls %d, spins %d\n", info.calls, processor_time() - before > 0.5);
  setrlimit(RLIMIT_NOFILE, &limit);
  until(&info, 1);
  CFSocketInvalidate(client), CFSocketInvalidate(listener);
  CFRelease(client), CFRelease(listener), CFRelease(any), CFRelease(where);
}

// -------------------------------------------------------------------------------------------------- Sources of version 1

struct port {
  const char *name;
  int descriptor;
  int times;
};

static int get_port(void *info) {
  return ((struct port *)info)->descriptor;
}

static void perform_port(void *info) {
  struct port *port = info;
  printf("%s performs\n", port->name);
  if (--port->times > 0) return;
  uint64_t value;
  if (read(port->descriptor, &value, sizeof value) != sizeof value) printf("%s has nothing\n", port->name);
}

static void perform_signalled(void *info) {
  printf("%s performs\n", (const char *)info);
}

static CFRunLoopSourceRef make_port(struct port *port, CFIndex order) {
  CFRunLoopSourceContext1 context = {1, port, NULL, NULL, NULL, NULL, NULL, get_port, perform_port};
  return CFRunLoopSourceCreate(NULL, order, (CFRunLoopSourceContext *)&context);
}

static void turn(const char *mode_name, CFRunLoopMode mode, Boolean returns) {
  printf("%s: result %d\n", mode_name, (int)CFRunLoopRunInMode(mode, 0.02, returns));
}

void ports_as_sources(void) {
  CFRunLoopRef loop = CFRunLoopGetCurrent();
  CFRunLoopMode other = CFSTR("other");
  struct port one = {"one", eventfd(0, EFD_NONBLOCK), 1}, two = {"two", eventfd(0, EFD_NONBLOCK), 1};
  CFRunLoopSourceRef first = make_port(&one, 2), second = make_port(&two, 1);
  printf("order %ld, valid %d\n", (long)CFRunLoopSourceGetOrder(first), CFRunLoopSourceIsValid(first));
  CFRunLoopSourceContext1 context;
  memset(&context, 0, sizeof context);
  context.version = 1;
  CFRunLoopSourceGetContext(first, (CFRunLoopSourceContext *)&context);
  printf("context %ld %d %d\n", (long)context.version, context.info == &one, context.getPort == get_port);
  CFRunLoopAddSource(loop, first, kCFRunLoopDefaultMode);
  CFRunLoopAddSource(loop, first, other);
  printf("contains %d %d\n", CFRunLoopContainsSource(loop, first, other), CFRunLoopContainsSource(loop, second, other));
  turn("idle", kCFRunLoopDefaultMode, true);
  uint64_t one_more = 1;
  if (write(one.descriptor, &one_more, 8) != 8) return;
  turn("ready", kCFRunLoopDefaultMode, true);
  turn("read", kCFRunLoopDefaultMode, true);
  one.times = 2;
  if (write(one.descriptor, &one_more, 8) != 8) return;
  turn("left ready", other, true);
  turn("still ready", other, true);
  one.times = 1;
  CFRunLoopRemoveSource(loop, first, other);
  CFRunLoopAddSource(loop, second, kCFRunLoopDefaultMode);
  if (write(two.descriptor, &one_more, 8) != 8) return;
  turn("second", kCFRunLoopDefaultMode, true);
  // Before a turn sleeps it performs what was signalled, and sees a port that is ready.
  CFRunLoopSourceContext of_signalled = {0, "signalled", NULL, NULL, NULL, NULL, NULL, NULL, NULL, perform_signalled};
  CFRunLoopSourceRef signalled = CFRunLoopSourceCreate(NULL, 5, &of_signalled);
  CFRunLoopAddSource(loop, signalled, kCFRunLoopDefaultMode);
  CFRunLoopSourceSignal(signalled);
  if (write(one.descriptor, &one_more, 8) != 8) return;
  turn("both", kCFRunLoopDefaultMode, false);
  // A signal is nothing to it.
  CFRunLoopSourceSignal(first);
  turn("signalled in vain", kCFRunLoopDefaultMode, true);
  CFRunLoopSourceInvalidate(first);
  if (write(one.descriptor, &one_more, 8) != 8) return;
  turn("invalid", kCFRunLoopDefaultMode, true);
  printf("valid %d, contains %d\n", CFRunLoopSourceIsValid(first),
         CFRunLoopContainsSource(loop, first, kCFRunLoopDefaultMode));
  CFRelease(first), CFRelease(second), CFRelease(signalled);
  close(one.descriptor), close(two.descriptor);
}
