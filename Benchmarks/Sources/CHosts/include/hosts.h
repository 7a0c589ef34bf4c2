// Foreign loops that have a Rondo loop as their guest.
#pragma once

// What a host is told: the guest's descriptor, what to call when it is readable, and what to call every 10 ms by a timer
// of its own. The host runs on the calling thread until `turn` answers other than 0, and no longer ticks once `tick` does.
// 0, or -1 if the host is not installed.
typedef int (*host_turn)(void *context);

int host_glib(int descriptor, host_turn turn, host_turn tick, void *context);
int host_libuv(int descriptor, host_turn turn, host_turn tick, void *context);
int host_sd_event(int descriptor, host_turn turn, host_turn tick, void *context);
