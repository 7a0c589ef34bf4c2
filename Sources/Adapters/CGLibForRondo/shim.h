// Deliberately empty: this target is for the flags that pkg-config reports. CRondoGuests includes the library's headers.
