// A file that imports this module has Foundation with it, and nothing else: a file that names a `Loop`, a socket or a
// message port imports Rondo, RondoSockets or RondoPorts too.
@_exported public import Foundation
