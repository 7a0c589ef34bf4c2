// What the dynamic linker knows of an address, for where nothing more is known.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The symbol before an address, readable where it is Swift's, in `name`, and the file it is in, in `image`. How far behind
// the symbol the address is; -1 if nothing is known.
int64_t rondo_nearest_symbol(uint64_t address, char *name, size_t name_limit, char *image, size_t image_limit);

// Gives memory that was freed back to the kernel: malloc_trim(3).
void rondo_trim_memory(void);
