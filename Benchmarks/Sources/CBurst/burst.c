#include "burst.h"
