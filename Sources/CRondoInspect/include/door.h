// The Unix socket by which a process answers questions about its loops: unix(7). It is a file of mode 0600 in a directory of
// mode 0700 of the user's. Each call answers with zero or more, or with minus errno.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Listens as the process with that number, at "rondo-inspect-UID/PID.RANDOM" below $XDG_RUNTIME_DIR, /run/user/UID, for root
// /run, or /tmp: the first that can be had. Its path is written to `path`. Closed on exec, never blocks. Removes the files
// of processes that are gone.
int rondo_door_open(pid_t process, char *path, size_t limit);
// Accepts a client. -EPERM, and nothing is sent, if its user is not the one who opened the door.
int rondo_door_accept(int door, uid_t user);
// Whether the client has closed its end, or the connection has failed. One that has only ended its sending has not.
int rondo_door_is_left(int guest);
// Comes to the door of a process of this user. -EPERM if another process stands there in its place, or it is another user's.
// Waits for 5 s at most: -EAGAIN, if the process takes in no client.
int rondo_door_knock(pid_t process);
// The processes of this user that have a door, at most `limit`; how many.
size_t rondo_door_list(pid_t *processes, size_t limit);
// Sends without blocking and without SIGPIPE; receives without blocking.
ssize_t rondo_door_send(int socket, const void *bytes, size_t length);
ssize_t rondo_door_receive(int socket, void *bytes, size_t length);
// Waits for something to receive: 1, 0 after so many milliseconds.
int rondo_door_await(int socket, int milliseconds);
