"""The C API from Python, by ctypes: a timer, and a thread that posts.

    make install PREFIX=/usr/local
    LD_LIBRARY_PATH=/usr/local/lib python3 ticks.py

It prints, in a third of a second:

    tick
    tick
    posted from another thread
    error: the handle stands for something of another kind
"""

import ctypes
import threading

rondo = ctypes.CDLL("librondo.so.1")
FOREVER = 2**63 - 1
SECOND = 10**9

# Handles are pointers, times are 64 bits: without these lines ctypes would pass ints.
Handle = ctypes.c_void_p
Call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
TimerCall = ctypes.CFUNCTYPE(None, Handle, ctypes.c_void_p, ctypes.c_void_p)
rondo.rondo_now.restype = ctypes.c_int64
rondo.rondo_error_text.restype = ctypes.c_char_p
rondo.rondo_loop_current.argtypes = [ctypes.POINTER(Handle)]
rondo.rondo_loop_add.argtypes = [Handle, Handle, ctypes.c_char_p]
rondo.rondo_loop_run.argtypes = [Handle, ctypes.c_char_p, ctypes.c_int64, ctypes.c_uint]
rondo.rondo_loop_post.argtypes = [Handle, ctypes.c_char_p, ctypes.c_uint, Call, ctypes.c_void_p, ctypes.c_void_p]
rondo.rondo_timer_new.argtypes = [
    ctypes.POINTER(Handle), ctypes.c_int64, ctypes.c_int64, ctypes.c_int, TimerCall, ctypes.c_void_p, ctypes.c_void_p]
rondo.rondo_loop_stop.argtypes = [Handle]
rondo.rondo_item_invalidate.argtypes = [Handle]
rondo.rondo_release.argtypes = [Handle]


def check(answer):
    if answer < 0:
        raise OSError(rondo.rondo_error_text(answer).decode())
    return answer


loop, timer = Handle(), Handle()
ticks = 0


# Kept in a variable for as long as the loop may call it.
@TimerCall
def tick(timer, tick, context):
    global ticks
    ticks += 1
    print("tick")
    if ticks == 2:
        check(rondo.rondo_item_invalidate(timer))
        check(rondo.rondo_loop_stop(loop))


@Call
def posted(context):
    print("posted from another thread")


check(rondo.rondo_loop_current(ctypes.byref(loop)))
check(rondo.rondo_timer_new(ctypes.byref(timer), rondo.rondo_now() + SECOND // 10, SECOND // 10, 0, tick, None, None))
check(rondo.rondo_loop_add(loop, timer, None))
check(rondo.rondo_release(timer))
check(rondo.rondo_loop_run(loop, None, FOREVER, 0))

thread = threading.Thread(target=lambda: check(rondo.rondo_loop_post(loop, None, 0, posted, None, None)))
thread.start()
thread.join()
check(rondo.rondo_loop_run(loop, None, 0, 0))

try:
    check(rondo.rondo_loop_add(loop, loop, None))
except OSError as error:
    print("error:", error)
