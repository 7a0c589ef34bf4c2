#include "rondo/CFRunLoop.h"
