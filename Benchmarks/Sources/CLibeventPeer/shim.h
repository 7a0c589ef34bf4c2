// Deliberately empty: only the C peer includes libevent's headers, because they clash with Swift's Glibc module.
// This target exists for the compiler and linker flags that pkg-config reports.
