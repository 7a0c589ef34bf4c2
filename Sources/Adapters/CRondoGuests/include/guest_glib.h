// GLib's main contexts as guests of a loop. GLib's own headers stay out of Swift's sight, where a program may have them
// under another module's name.
#pragma once

struct pollfd;

// The context, or the calling thread's default one, with a reference. NULL if another thread owns it: else the calling
// thread does from now on.
void *rondo_glib_acquire(void *context);

// Gives up ownership and reference.
void rondo_glib_release(void *context);

int rondo_glib_is_owner(void *context);

// Begins an iteration. Calls out: sources may have functions of their own for this.
//
// Returns the priority to query for.
int rondo_glib_prepare(void *context);

// What the context waits for: `*timeout` in milliseconds, less than 0 for no limit; and descriptors, which may be more
// than there is room for. See g_main_context_query.
int rondo_glib_query(void *context, int priority, int *timeout, struct pollfd *descriptors, int room);

// One iteration that does not sleep. Calls out.
void rondo_glib_iterate(void *context);

// An epoll set whose entries tell once: after that they are silent until they are armed again.

// The descriptor, or -1 and errno.
int rondo_pollset_new(void);

// Each 0, or errno. `events` are poll(2)'s.
int rondo_pollset_add(int set, int descriptor, unsigned events);
int rondo_pollset_change(int set, int descriptor, unsigned events);
int rondo_pollset_remove(int set, int descriptor);

// Silences some of those that tell. A set with more of them stays readable.
void rondo_pollset_silence(int set);
