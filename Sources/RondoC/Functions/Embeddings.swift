// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

internal import CRondo
import Rondo

@c @implementation
public func rondo_embedding_new(
  _ embedding: UnsafeMutablePointer<OpaquePointer?>?, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?
) -> CInt {
  done { () throws(rondo_error) in
    guard let embedding = unsafe embedding else { throw RONDO_ERROR_NULL }
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    let mode = unsafe try Loop.Mode(one: mode)
    try loop.checkCaller()
    try loop.checkLife()
    if loop.isEmbedded { throw RONDO_ERROR_EMBEDDED }
    if loop.depth > 0 { throw RONDO_ERROR_RUNNING }
    try loop.checkRoom(for: mode)
    let handle = try HandleTable.shared.reserve()
    let made = embed(loop, mode)
    HandleTable.shared.publish(handle, made, RONDO_EMBEDDING, isAnchored: false, isOwned: true)
    unsafe embedding.pointee = OpaquePointer(bitPattern: handle)
  }
}

@available(*, noasync)
private func embed(_ loop: Loop, _ mode: Loop.Mode) -> Loop.Embedding {
  Loop.Embedding(of: loop, in: mode)
}

@c @implementation
public func rondo_embedding_descriptor(_ embedding: OpaquePointer?) -> CInt {
  answer { () throws(rondo_error) in unsafe try present(embedding).descriptor }
}

@c @implementation
public func rondo_embedding_turn(_ embedding: OpaquePointer?) -> CInt {
  answer { () throws(rondo_error) in
    // Kept while it lasts, for a callout may give the last reference back.
    let embedding = unsafe try present(embedding)
    if embedding.isInTurn { throw RONDO_ERROR_RUNNING }
    return turn(embedding).map(code) ?? RONDO_OK.rawValue
  }
}

@available(*, noasync)
private func turn(_ embedding: Loop.Embedding) -> Loop.RunResult? {
  withExtendedLifetime(embedding) { embedding.turn() }
}

@c @implementation
public func rondo_embedding_deadline(_ embedding: OpaquePointer?, _ date: UnsafeMutablePointer<Int64>?) -> CInt {
  done { () throws(rondo_error) in
    let embedding = unsafe try present(embedding)
    guard let date = unsafe date else { throw RONDO_ERROR_NULL }
    unsafe date.pointee = embedding.deadline.map { Instant($0).nanoseconds } ?? .max
  }
}

@c @implementation
public func rondo_embedding_end(_ embedding: OpaquePointer?) -> CInt {
  done { () throws(rondo_error) in
    let embedding = unsafe try Borrowing.embedding(embedding)
    if embedding.loop.hasEnded { return }
    try embedding.loop.checkCaller()
    embedding.end()
  }
}

/// An embedding that has not ended, for a caller on its loop's thread.
private func present(_ handle: OpaquePointer?) throws(rondo_error) -> Loop.Embedding {
  let embedding = unsafe try Borrowing.embedding(handle)
  try embedding.loop.checkCaller()
  if embedding.hasEnded { throw RONDO_ERROR_ENDED }
  return embedding
}
