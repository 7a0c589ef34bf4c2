// Deliberately empty, as CLibeventPeer's.
