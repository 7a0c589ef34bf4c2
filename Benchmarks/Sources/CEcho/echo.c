#include "echo.h"
