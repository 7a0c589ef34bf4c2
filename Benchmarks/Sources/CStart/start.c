#include "start.h"
