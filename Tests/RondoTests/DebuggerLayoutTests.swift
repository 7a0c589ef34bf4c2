import Synchronization
import Testing

@testable import Rondo

/// What `rondo-gdb.py` reads without debug information, at places that stand in the script as they do here. If one of
/// these fails, the script shows nonsense.
@Suite struct DebuggerLayoutTests {
  private enum Place {
    enum Table {
      static let slots = 16
      static let count = 28
    }
    enum Slot {
      static let size = 64
      static let item = 0
      static let timerTag = 16
    }
    enum Item {
      static let modes = 24
      static let kind = 44
      static let label = 48
      static let descriptor = 56
    }
  }

  @Test func `a slot table has its slots and their number where a debugger looks`() {
    let table = SlotTable()
    let items = (0..<20).map { _ in Loop.Source {} }
    for item in items { _ = table.insert(item) }
    let slots = unsafe load(UnsafeRawPointer.self, of: table, at: Place.Table.slots)
    #expect(load(UInt32.self, of: table, at: Place.Table.count) == 20)
    for (index, item) in items.enumerated() {
      let place = index * Place.Slot.size + Place.Slot.item
      let found = unsafe slots.load(fromByteOffset: place, as: UInt.self)
      #expect(unsafe found == UInt(bitPattern: Unmanaged.passUnretained(item).toOpaque()))
    }
    for item in items { _ = table.freeSlot(table.token(of: item)!) }
    #expect(unsafe load(UnsafeRawPointer.self, of: table, at: Place.Table.slots).load(as: UInt.self) == 0)
  }

  @Test func `a timer table has its timers where a debugger looks, and tells them from timeouts`() {
    let table = TimerStore()
    let timer = Loop.Timer(after: .seconds(1)) { _ in }
    let slot = unsafe table.insert(.timer(.passRetained(timer)), group: 0, at: nil)
    let timeouts = [
      table.insert(.timeout(.closure { _ = timer }), group: 0, at: nil),
      unsafe table.insert(.timeout(.function({ _ in }, nil)), group: 0, at: nil),
    ]
    let slots = unsafe load(UnsafeRawPointer.self, of: table, at: Place.Table.slots)
    #expect(load(UInt32.self, of: table, at: Place.Table.count) == 3)
    func tag(_ slot: UInt32) -> UInt8 {
      unsafe slots.load(fromByteOffset: Int(slot) * Place.Slot.size + Place.Slot.timerTag, as: UInt8.self)
    }
    let found = unsafe slots.load(fromByteOffset: Int(slot) * Place.Slot.size + Place.Slot.item, as: UInt.self)
    #expect(unsafe found == UInt(bitPattern: Unmanaged.passUnretained(timer).toOpaque()))
    #expect(tag(slot) == 0 && timeouts.allSatisfy { tag($0) != 0 })
    for slot in timeouts { _ = table.remove(slot) }
    #expect(timeouts.allSatisfy { tag($0) != 0 })
    if case .timer(let timer) = table.remove(slot).target { unsafe timer.release() }
    #expect(tag(slot) != 0)
  }

  @Test func `a slot has the size of a cache line`() {
    #expect(MemoryLayout<Resident>.stride == Place.Slot.size)
    #expect(MemoryLayout<TimerRow>.stride == Place.Slot.size)
  }

  @Test func `an item has its kind and its name where a debugger looks`() throws {
    let pipe = TestPipe()
    let source = try Loop.DescriptorSource(pipe.reader, for: .read) { _, _ in }
    let items: [Loop.Item] = [
      Loop.Observer(.entry) { _ in }, Loop.Source {}, Loop.Timer(after: .seconds(1)) { _ in }, source,
    ]
    for item in items {
      item.modes.store(5, ordering: .relaxed)
      #expect(load(UInt64.self, of: item, at: Place.Item.modes) == 5)
      item.modes.store(0, ordering: .relaxed)
      #expect(load(UInt8.self, of: item, at: Place.Item.kind) == item.kind.rawValue)
      #expect(load(UInt64.self, of: item, at: Place.Item.label) == item.label.word)
    }
    #expect(load(CInt.self, of: source, at: Place.Item.descriptor) == source.descriptor)
    source.invalidate()
  }

  private func load<Value>(_ type: Value.Type, of object: AnyObject, at offset: Int) -> Value {
    unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()).load(fromByteOffset: offset, as: type)
  }
}
