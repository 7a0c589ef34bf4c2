/// What transforms a connection's bytes on their way: TLS. Its members are as those of `Transport`.
package protocol TransportLayer: AnyObject, Sendable {
  func receive(limit: Int, into inbox: inout [UInt8]) throws(ConnectionError) -> Transfer
  func send(_ bytes: RawSpan) throws(ConnectionError) -> Transfer
  /// Counts the bytes of an earlier attempt to send, once they are sent; nil if there are none.
  func sendUncounted() throws(ConnectionError) -> Transfer?
  var hasUncounted: Bool { get }
  func finish() throws(ConnectionError) -> Bool
  func close()
}

/// A transport over another one, with a layer of another module between them.
package final class LayeredTransport: Transport, @unchecked Sendable {
  // A class of another module could override nothing here. The existential is made once, and a call through it costs
  // what a call of a method does.

  /// *constant*
  package let layer: any TransportLayer
  /// *constant*
  private let carrier: Transport

  init(_ layer: any TransportLayer, over carrier: Transport) {
    self.layer = layer
    self.carrier = carrier
    super.init(input: carrier.input, output: carrier.output)
  }

  override var socket: Socket? { carrier.socket }

  override var hasUncounted: Bool { layer.hasUncounted }

  override package func receive(limit: Int, into inbox: inout [UInt8]) throws(ConnectionError) -> Transfer {
    try layer.receive(limit: limit, into: &inbox)
  }

  override package func send(_ bytes: RawSpan) throws(ConnectionError) -> Transfer { try layer.send(bytes) }

  override func send(file: CInt, from offset: Int, count: Int) throws(ConnectionError) -> Transfer {
    // The file may have changed since: what was read of it before comes first.
    if let transfer = try layer.sendUncounted() { return transfer }
    return try super.send(file: file, from: offset, count: min(count, Self.recordLength))
  }

  override func finish() throws(ConnectionError) -> Bool { try layer.finish() }

  override package func close() { layer.close() }
}
