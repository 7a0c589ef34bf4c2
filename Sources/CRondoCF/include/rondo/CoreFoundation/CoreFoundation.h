/* For sources that say <CoreFoundation/CoreFoundation.h>, unchanged: with -I PREFIX/include/rondo. */
#include "../CFRunLoop.h"

/* Darwin's <sys/cdefs.h> has it, and CoreFoundation.h brings that. Some headers of Linux have members of this name: include
   those first. */
#ifndef __unused
#define __unused __attribute__((__unused__))
#endif
