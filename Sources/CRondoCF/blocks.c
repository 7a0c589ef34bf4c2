// Blocks by their layout, so that what has no blocks needs none of their compiler's.
#include "CRondoCFPointers.h"

struct block {
  void *isa;
  int flags;
  int reserved;
  void (*invoke)(void);
};

extern void *_Block_copy(const void *);
extern void _Block_release(const void *);
extern uintptr_t swift_retainCount(const void *);

void rondo_cf_call(void *block) { ((void (*)(void *))((struct block *)block)->invoke)(block); }

void rondo_cf_call_timer(void *block, void *timer) {
  ((void (*)(void *, void *))((struct block *)block)->invoke)(block, timer);
}

void rondo_cf_call_observer(void *block, void *observer, CFRunLoopActivity activity) {
  ((void (*)(void *, void *, CFRunLoopActivity))((struct block *)block)->invoke)(block, observer, activity);
}

void *rondo_cf_block_copy(const void *block) { return _Block_copy(block); }

void rondo_cf_block_release(const void *block) { _Block_release(block); }

CFIndex rondo_cf_retain_count(const void *object) { return (CFIndex)swift_retainCount(object); }
