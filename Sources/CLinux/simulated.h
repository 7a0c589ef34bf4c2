// System calls on a descriptor that a test's simulated machine gave out, and those that make one there.
#pragma once

#include <stdint.h>

// The kernel gives out no number as high.
#define RONDO_FIRST_SIMULATED 0x40000000

enum rondo_call {
  RONDO_SOCKET,       // family, type
  RONDO_SOCKET_PAIR,  // type, ends
  RONDO_BIND,         // address, length
  RONDO_LISTEN,       // backlog
  RONDO_CONNECT,      // address, length
  RONDO_ACCEPT,       // address, length
  RONDO_SEND,         // bytes, count, address, length
  RONDO_SEND_PIECES,  // vectors, count
  RONDO_SEND_FILE,    // file, offset, count
  RONDO_SEND_URGENT,  // the byte
  RONDO_RECEIVE,      // bytes, count
  RONDO_SHUTDOWN,     // how
  RONDO_NAME,         // address, length
  RONDO_PEER_NAME,    // address, length
  RONDO_OPTION,       // level, option
  RONDO_SET_OPTION,   // level, option, value
  RONDO_CREDENTIALS,  // credentials
  RONDO_POLL,         // events, milliseconds
  RONDO_STATUS,       // identity
  RONDO_CLOSE,
  RONDO_SIGNAL,        // signal: makes what its deliveries are received from
  RONDO_CLOCK,         // clock: makes a timer
  RONDO_CLOCK_ARM,     // nanoseconds
  RONDO_CLOCK_NOW,     // clock: makes nothing
  RONDO_SPAWN,         // executable, arguments: the child's number
  RONDO_CHILD,         // process: makes what is readable when it has ended
  RONDO_CHILD_LOOK,    // reaps, whether it was killed and its status
  RONDO_CHILD_SIGNAL,  // signal
  RONDO_RECEIVE_DATAGRAM,  // bytes, count, address, length: the whole length
};

static inline int rondo_is_simulated(int descriptor) { return descriptor >= RONDO_FIRST_SIMULATED; }

// The result of a call, or minus errno. A call without a descriptor, -1, is one of the calling thread's machine: -ENOSYS
// if that is the real one. In Swift.
long rondo_simulate(enum rondo_call call, int descriptor, long first, long second, long third, long fourth);
