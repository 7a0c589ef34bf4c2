// Deliberately empty: this target is for the flags that pkg-config reports. CTLSGuest includes OpenSSL's headers.
