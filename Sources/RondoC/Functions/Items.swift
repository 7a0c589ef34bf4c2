// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names are the header's.

public import CRondo
import Rondo

// Items in modes, whatever their kind, and posted calls.

@c @implementation
public func rondo_loop_add(
  _ loop: OpaquePointer?, _ item: UnsafeMutableRawPointer?, _ mode: UnsafePointer<CChar>?
) -> CInt {
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    let item = unsafe try Borrowing.item(item)
    let mode = unsafe try Loop.Mode(named: mode)
    guard item.isValid else { throw RONDO_ERROR_INVALID }
    try loop.checkLife()
    try loop.checkRoom(for: mode)
    if loop.add(item, to: mode) { return }
    switch loop.refusal(of: item) {
    case .itemIsInvalid: throw RONDO_ERROR_INVALID
    case .loopHasEnded: throw RONDO_ERROR_ENDED
    // If it is free by now, it was not a moment ago.
    case .itemIsElsewhere, nil: throw RONDO_ERROR_ELSEWHERE
    }
  }
}

@c @implementation
public func rondo_loop_remove(
  _ loop: OpaquePointer?, _ item: UnsafeMutableRawPointer?, _ mode: UnsafePointer<CChar>?
) -> CInt {
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    let item = unsafe try Borrowing.item(item)
    let mode = unsafe try Loop.Mode(named: mode)
    guard loop.contains(item, in: mode) else { throw RONDO_ERROR_ABSENT }
    loop.remove(item, from: mode)
  }
}

@c @implementation
public func rondo_loop_contains(
  _ loop: OpaquePointer?, _ item: UnsafeMutableRawPointer?, _ mode: UnsafePointer<CChar>?
) -> CInt {
  answer { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop).takeUnretainedValue()
    let item = unsafe try Borrowing.item(item)
    let mode = unsafe try Loop.Mode(named: mode)
    return loop.contains(item, in: mode) ? 1 : 0
  }
}

@c @implementation
public func rondo_item_invalidate(_ item: UnsafeMutableRawPointer?) -> CInt {
  done { () throws(rondo_error) in unsafe try Borrowing.item(item).invalidate() }
}

@c @implementation
public func rondo_item_is_valid(_ item: UnsafeMutableRawPointer?) -> CInt {
  answer { () throws(rondo_error) in unsafe try Borrowing.item(item).isValid ? 1 : 0 }
}

@c @implementation
public func rondo_loop_post(
  _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ flags: CUnsignedInt, _ call: rondo_call?,
  _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?
) -> CInt {
  done { () throws(rondo_error) in
    let loop = unsafe try Borrowing.loop(loop)
    guard let call = unsafe call else { throw RONDO_ERROR_NULL }
    try check(flags, within: RONDO_QUIETLY)
    let name = unsafe mode
    let posted = unsafe PostedCall(call, context, destroy)
    do throws(rondo_error) {
      let mode = unsafe try Loop.Mode(named: name)
      try unsafe loop.borrow { (loop) throws(rondo_error) in
        if unsafe name == nil {
          if loop.perform(waking: flags == 0, posted.block) { return }
        } else {
          try loop.checkRoom(for: mode)
          if loop.perform(in: mode, waking: flags == 0, posted.block) { return }
        }
        throw RONDO_ERROR_ENDED
      }
    } catch {
      posted.withdraw()
      throw error
    }
  }
}
