// Pressure stall information: how long tasks had to wait for memory, processors or disks. See the kernel's
// Documentation/accounting/psi.rst. Each call answers with zero or more, or with minus errno.
#pragma once

#include <stddef.h>

// What a file of pressure is.
enum rondo_pressure_kind { RONDO_PRESSURE_KERNEL, RONDO_PRESSURE_PIPE, RONDO_PRESSURE_OTHER };

// A variable of the environment; NULL for a program that has more rights than its caller: secure_getenv(3).
const char *rondo_service_environment(const char *name);

// Opens a file of the kernel's pressure, or a pipe that stands for one: its descriptor. Anything else is not opened: the
// descriptor of RONDO_PRESSURE_OTHER is good for nothing but close(2). Closed on exec, never blocks.
int rondo_pressure_open(const char *path, enum rondo_pressure_kind *kind);

// Tells the kernel what to watch for.
int rondo_pressure_arm(int file, const void *trigger, size_t length);

// An epoll set that is readable when the kernel has something urgent to tell of the file, which is not readiness to read.
int rondo_pressure_set(int file);

// Takes what the set has told, once it was readable: 1 if the file's group has gone, and no more comes.
int rondo_pressure_take(int set);

// The text of the file, from its beginning: how many bytes, or minus errno.
long rondo_pressure_text(int file, char *room, size_t length);
