import CLinux
import Foundation

/// Calls the delegate of a stream, which Foundation on Linux does not. Core Foundation's stream keeps it.
final class StreamClient {
  /// *constant* Weak: the stream keeps Core Foundation's, and that keeps the client.
  private weak let stream: Stream?

  private init(_ stream: Stream) {
    self.stream = stream
  }

  /// Has Core Foundation report the events of a stream. A subclass with no stream of Core Foundation's calls its delegate.
  static func attach(to stream: Stream) {
    guard let storage = storage(of: stream) else { return }
    let client = StreamClient(stream)
    var context = unsafe rondo_core_stream_context()
    unsafe context.info = Unmanaged.passUnretained(client).toOpaque()
    unsafe context.retain = { unsafe Unmanaged<StreamClient>.fromOpaque($0!).retain().toOpaque() }
    unsafe context.release = { unsafe Unmanaged<StreamClient>.fromOpaque($0!).release() }
    let object = unsafe Unmanaged.passUnretained(storage).toOpaque()
    switch unsafe rondo_core_type_of(object) {
    case rondo_core_type_of_read_streams():
      _ = unsafe rondo_core_set_client_of_read_stream(object, events, { unsafe StreamClient.report($1, $2) }, &context)
    case rondo_core_type_of_write_streams():
      _ = unsafe rondo_core_set_client_of_write_stream(object, events, { unsafe StreamClient.report($1, $2) }, &context)
    default: break
    }
    withExtendedLifetime(client) {}
  }

  /// All that there are.
  private static var events: UInt {
    Stream.Event([.openCompleted, .hasBytesAvailable, .hasSpaceAvailable, .errorOccurred, .endEncountered]).rawValue
  }

  /// Calls out.
  private static func report(_ event: UInt, _ info: UnsafeMutableRawPointer?) {
    guard let stream = unsafe Unmanaged<StreamClient>.fromOpaque(info!).takeUnretainedValue().stream else { return }
    stream.delegate?.stream(stream, handle: Stream.Event(rawValue: event))
  }

  /// Core Foundation's stream, which Foundation shows nowhere but inside.
  private static func storage(of stream: Stream) -> AnyObject? {
    var mirror: Mirror? = Mirror(reflecting: stream)
    while let present = mirror {
      if let found = present.children.first(where: { $0.label == "_streamStorage" }) {
        return found.value as AnyObject?
      }
      mirror = present.superclassMirror
    }
    return nil
  }
}
