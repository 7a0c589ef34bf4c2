// A file that imports this module needs no import of Foundation.
@_exported public import Foundation
