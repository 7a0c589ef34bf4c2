#pragma once

// Bytes of the heap that are in use: mallinfo2(3), which Swift's Glibc module lacks.
long heap_in_use(void);
