// Deliberately empty: this target is for the flags that pkg-config reports. CGLibGuest includes the library's headers.
