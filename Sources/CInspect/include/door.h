// The abstract Unix socket by which a process answers questions about its loops: unix(7). Each call answers with zero or
// more, or with minus errno.
#pragma once

#include <stddef.h>
#include <sys/types.h>

// Listens as the process with that number: "@rondo-inspect/4711". Closed on exec, never blocks.
int rondo_door_open(pid_t process);
// Takes somebody in. -EPERM, and nothing is sent, if it is another user than this process's own.
int rondo_door_accept(int door);
// Comes to the door of a process of this user. -EPERM if somebody else stands there in its place.
int rondo_door_knock(pid_t process);
// Sends without blocking and without SIGPIPE; receives without blocking.
ssize_t rondo_door_send(int socket, const void *bytes, size_t length);
ssize_t rondo_door_receive(int socket, void *bytes, size_t length);
