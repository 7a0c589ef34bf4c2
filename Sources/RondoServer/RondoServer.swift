@_exported public import Rondo
@_exported public import RondoAsync
@_exported public import RondoDaemon
@_exported public import RondoMain
@_exported public import RondoSockets
