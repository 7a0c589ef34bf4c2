// The programs that the literature on CFRunLoop is made of, compiled twice: once with each import. Nothing else differs.

import Glibc

setvbuf(stdout, nil, Int32(_IOLBF), 0)
phases()
results()
contexts()
equality()
timers()
blocks()
commonModes()
heldBack()
idleWork()
untilCondition()
stallWatcher()
permanentThread()
commandBuffer()
sockets()
mainThread()
