// Deliberately empty: this target is for the flags that pkg-config reports. CLibuvGuest includes the library's headers.
