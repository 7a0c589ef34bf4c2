// libFuzzer's way in: built by `make fuzz` alone.

import RondoFuzz

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  FrameDecoderProperties.check(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}
