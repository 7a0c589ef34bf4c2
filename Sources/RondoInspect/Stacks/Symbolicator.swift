import CRondoInspect
import Rondo
@_spi(Internal) @_spi(MemoryReaders) import Runtime

/// Names for addresses: by the toolchain's own backtraces, which know files and lines; else by the dynamic linker.
enum Symbolicator {
  static func frames(of steps: [StackWalk.Step]) -> [StackFrame] {
    guard !steps.isEmpty else { return [] }
    let guesses = Set(steps.filter { $0.kind == .guess }.map(\.address))
    var frames = symbolicated(steps) ?? steps.map(nearest)
    for index in frames.indices where guesses.contains(frames[index].address) { frames[index].isGuess = true }
    return withoutTraces(frames, steps)
  }

  /// The name of the code at an address.
  static func name(of code: UInt) -> StackFrame? {
    frames(of: [StackWalk.Step(address: UInt64(code), kind: .place)]).last
  }

  /// Guesses help where the thread is in a function without a frame of its own. In one that has a frame they are traces.
  private static func withoutTraces(_ frames: [StackFrame], _ steps: [StackWalk.Step]) -> [StackFrame] {
    if let place = frames.last(where: { $0.address == frames[0].address }), place.offset >= 16,
      hasFrame(place.address - UInt64(place.offset))
    {
      return frames.filter { !$0.isGuess }
    }
    let kept = Set(CallPath().withoutTraces(steps.map { candidate($0, frames) }).map(\.address))
    return withoutSleep(frames.filter { !$0.isGuess || kept.contains($0.address) })
  }

  /// The way of a sleeping loop through libevent, which has no frames, tells nothing of the program.
  private static func withoutSleep(_ frames: [StackFrame]) -> [StackFrame] {
    let guesses = frames.filter(\.isGuess)
    guard guesses.contains(where: { isLibevent($0.image) }), guesses.allSatisfy(\.isOfLoop) else { return frames }
    return frames.filter { !$0.isGuess }
  }

  private static func isLibevent(_ image: String?) -> Bool { image?.hasPrefix("libevent") ?? false }

  /// Whether a symbol is of a module of Rondo's or of its C, by its mangled name. Those of its tests are programs.
  private static func isRondo(_ symbol: String) -> Bool {
    guard symbol.hasPrefix("$s") else { return symbol.hasPrefix("rondo_") }
    let length = symbol.dropFirst(2).prefix { ("0"..."9").contains($0) }
    let module = symbol.dropFirst(2 + length.count).prefix(Int(length) ?? 0)
    return module.hasPrefix("Rondo") && !module.hasSuffix("Tests")
  }

  private static func candidate(_ step: StackWalk.Step, _ frames: [StackFrame]) -> CallPath.Candidate {
    // Of inlined functions and the one that they are in, that one is last.
    let frame = frames.last { $0.address == step.address && $0.function != nil }
    // What returns somewhere counts from the byte before, which is of the call.
    let start = frame.map { step.address - UInt64($0.offset) - (step.kind == .place ? 0 : 1) }
    return CallPath.Candidate(address: step.address, start: start, isGuess: step.kind == .guess)
  }

  /// Whether a function begins by making a frame.
  private static func hasFrame(_ start: UInt64) -> Bool {
    let bytes = StackWalk.readWords(start, 2).flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
    }
    #if arch(x86_64)
      // push %rbp; mov %rsp, %rbp
      return bytes.count == 16 && (0..<8).contains { Array(bytes[$0..<$0 + 4]) == [0x55, 0x48, 0x89, 0xE5] }
    #else
      // Nearly all code for these processors has frames.
      return bytes.count == 16
    #endif
  }

  // MARK: - The toolchain's

  /// Asks on a thread of its own: the toolchain keeps the tables of symbols, tens of megabytes, until the thread that
  /// asked for them ends. malloc(3) keeps them even then. If no thread can be had, the caller's asks.
  private static func symbolicated(_ steps: [StackWalk.Step]) -> [StackFrame]? {
    var frames: [StackFrame]?
    if PassingThread.run({ frames = symbolicatedHere(steps) }) != 0 { frames = symbolicatedHere(steps) }
    rondo_trim_memory()
    return frames
  }

  /// The table of images is made by a reader that asks the kernel. The toolchain's usual one takes the first bytes of
  /// every mapped file itself, and ends the process if another thread has unmapped one meanwhile.
  private static func symbolicatedHere(_ steps: [StackWalk.Step]) -> [StackFrame]? {
    guard let backtrace = try? Backtrace(from: BacktraceDecoder(steps)) else { return nil }
    let images = ImageMap.capture(using: LocalMemoryReader())
    guard let symbolicated = backtrace.symbolicated(with: images) else { return nil }
    let places = Set(steps.filter { $0.kind == .place }.map(\.address))
    let frames = symbolicated.frames.compactMap { frame($0, places) }
    return frames.isEmpty ? nil : frames
  }

  /// What the toolchain says for code that it has no name for.
  private static let unknown = "<unknown>"

  private static func frame(_ found: SymbolicatedBacktrace.Frame, _ places: Set<UInt64>) -> StackFrame? {
    guard let address = UInt64("\(found.captured.originalProgramCounter)".dropFirst(2), radix: 16) else { return nil }
    // A library without a table of symbols has those that it exports: the dynamic linker knows them.
    guard let symbol = found.symbol, symbol.name != unknown else {
      return nearest(StackWalk.Step(address: address, kind: places.contains(address) ? .place : .caller))
    }
    var frame = StackFrame(address: address)
    frame.isInlined = found.inlined
    frame.function = symbol.name
    frame.offset = Int64(symbol.offset)
    frame.image = symbol.imageName
    frame.isOfLoop = isLibevent(symbol.imageName) || isRondo(symbol.rawName)
    frame.file = symbol.sourceLocation?.path
    frame.line = symbol.sourceLocation?.line
    return frame
  }

  // MARK: - The dynamic linker's

  private static func nearest(_ step: StackWalk.Step) -> StackFrame {
    var frame = StackFrame(address: step.address)
    var (name, image) = ([CChar](repeating: 0, count: 1_024), [CChar](repeating: 0, count: 256))
    // A return address may be the first of the next function.
    let address = step.kind == .place ? step.address : step.address - 1
    let offset = unsafe rondo_nearest_symbol(address, &name, name.count, &image, image.count)
    frame.image = text(image)
    frame.isOfLoop = isLibevent(frame.image)
    if offset >= 0 {
      frame.function = text(name)
      frame.offset = offset
    }
    return frame
  }

  private static func text(_ characters: [CChar]) -> String? {
    let bytes = characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

/// Gives the toolchain's backtrace the addresses of another thread: it captures those of its own only, and decodes any.
///
/// The form is Swift's compact backtrace format. A toolchain that decodes another one gives an error or other addresses,
/// which the frames would show.
private struct BacktraceDecoder: Decoder {
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private let fields: [String: String]

  init(_ steps: [StackWalk.Step]) {
    // A header of version 0 with words of 64 bits; before each address whether it is a place or where something returns,
    // that it is absolute, and that it has eight bytes; a mark at the end.
    var bytes: [UInt8] = [0x02]
    for step in steps {
      bytes.append(step.kind == .place ? 0x1F : 0x2F)
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: step.address >> UInt64(shift)))
      }
    }
    bytes.append(0)
    #if arch(x86_64)
      let architecture = "x86_64"
    #elseif arch(arm64)
      let architecture = "arm64"
    #else
      let architecture = "unknown"
    #endif
    fields = ["architecture": architecture, "backtrace": Base64.encoded(bytes)]
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Fields(fields: fields))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Mismatch() }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Mismatch() }

  private struct Mismatch: Error {}

  private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let fields: [String: String]
    let codingPath: [any CodingKey] = []

    var allKeys: [Key] { fields.keys.compactMap(Key.init) }

    func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { fields[key.stringValue] == nil }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
      guard let value = fields[key.stringValue] else { throw Mismatch() }
      return value
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { throw Mismatch() }

    func nestedContainer<NestedKey: CodingKey>(
      keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> { throw Mismatch() }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw Mismatch() }
    func superDecoder() throws -> any Decoder { throw Mismatch() }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw Mismatch() }
  }
}

/// RFC 4648, section 4.
private enum Base64 {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

  static func encoded(_ bytes: [UInt8]) -> String {
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      bits <<= 8
      for position in 0..<4 {
        text.append(position <= group.count ? digits[Int(bits >> 26)] : "=")
        bits <<= 6
      }
    }
    return text
  }
}
