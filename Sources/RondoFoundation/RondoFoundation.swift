// A file that imports this module needs no other import: Foundation comes with it, and so does the loop underneath.
@_exported public import Foundation
@_exported public import Rondo
