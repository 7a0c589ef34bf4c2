// The idioms of run loops, as the article From the idiom to Rondo has them: for Foundation and CFRunLoop in one directory,
// for Rondo in the other. Both programs print the same.

try permanentThread()
try networkThread()
tracking()
flush()
displayLink()
idleWork()
try stalls()
try processor()
scopes()
try commands()
notifications()
allModes()
condition()
