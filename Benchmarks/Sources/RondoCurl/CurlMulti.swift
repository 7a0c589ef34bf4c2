internal import CGuests
public import Rondo

/// libcurl's transfers in one mode of a loop, by its multi socket interface. The loop's own thread.
///
/// An example of a library that neither has a loop nor takes one: it says which descriptors it waits for and until when,
/// and wants to be told. A descriptor source for each descriptor and one timeout are all it takes.
public final class CurlMulti: @unchecked Sendable {
  // Unchecked: everything is on the loop's thread.

  /// What came of a transfer.
  public struct Response: Sendable, Hashable {
    /// A CURLcode: 0 if it went well.
    public let error: Int
    /// Of HTTP; 0 if there was no answer.
    public let status: Int
    public let bytes: Int
  }

  private let loop: Loop
  private let mode: Loop.Mode
  private var multi: UnsafeMutableRawPointer?
  private var sources: [CInt: Loop.DescriptorSource] = [:]
  private var timeout: Loop.Timeout!
  private var handlers: [CInt: (Response) -> Void] = [:]
  private var lastName: CInt = 0

  /// Nil if libcurl was not there when this was compiled.
  public init?(in mode: Loop.Mode = .default, of loop: Loop = .current) {
    self.loop = loop
    self.mode = mode
    multi = guest_curl_new(
      { CurlMulti.of($0).watch($1, $2) }, { CurlMulti.of($0).wait($1) },
      { CurlMulti.of($0).finish($1, Response(error: Int($2), status: Int($3), bytes: Int($4))) },
      Unmanaged.passUnretained(self).toOpaque())
    if multi == nil { return nil }
    timeout = loop.makeTimeout(in: mode) { [self] in act(-1, []) }
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> CurlMulti {
    Unmanaged<CurlMulti>.fromOpaque(context!).takeUnretainedValue()
  }

  /// Begins a transfer. `handler` is called in a callout of the loop's when it is over, unless `end()` was before.
  public func get(_ url: String, then handler: @escaping (Response) -> Void) {
    precondition(multi != nil, "These transfers have been ended. Make another CurlMulti.")
    lastName += 1
    handlers[lastName] = handler
    // libcurl begins with a timeout of zero.
    guest_curl_get(multi, lastName, url)
  }

  /// Cuts short what is under way, closes every connection, and lets go of the handlers. Not inside libcurl.
  public func end() {
    guard let ending = multi.take() else { return }
    guest_curl_free(ending)
    loop.discard(timeout)
    for source in sources.values { source.invalidate() }
    sources = [:]
    handlers = [:]
  }

  // MARK: - What libcurl asks for

  private func watch(_ descriptor: CInt, _ wanted: CInt) {
    let readiness = Loop.DescriptorSource.Readiness(rawValue: UInt8(wanted))
    if let source = sources[descriptor], source.isValid, wanted != 0 {
      source.enabled = readiness
      return
    }
    sources.removeValue(forKey: descriptor)?.invalidate()
    if wanted == 0 { return }
    do {
      let source = try Loop.DescriptorSource(descriptor, for: readiness) { [self] _, ready in act(descriptor, ready) }
      sources[descriptor] = source
      loop.add(source, to: mode)
    } catch {
      preconditionFailure("libcurl wants to wait for what is no socket: \(error)")
    }
  }

  private func wait(_ milliseconds: Int) {
    if milliseconds < 0 { loop.disarm(timeout) } else { loop.arm(timeout, after: .milliseconds(milliseconds)) }
  }

  // MARK: - What it is told

  /// Calls out.
  private func act(_ descriptor: CInt, _ ready: Loop.DescriptorSource.Readiness) {
    guard let multi else { return }
    guest_curl_act(multi, descriptor, CInt(ready.rawValue))
  }

  /// Calls out.
  private func finish(_ name: CInt, _ response: Response) {
    handlers.removeValue(forKey: name)?(response)
  }
}
