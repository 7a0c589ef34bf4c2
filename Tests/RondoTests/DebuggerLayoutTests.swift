import Testing

@testable import Rondo

/// What `rondo-gdb.py` reads without debug information, at places that stand in the script as they do here. If one of
/// these fails, the script shows nonsense.
@Suite struct DebuggerLayoutTests {
  private enum Place {
    enum Table {
      static let slots = 16
      static let count = 32
    }
    enum Slot {
      static let size = 64
      static let item = 0
      static let installed = 16
    }
    enum Item {
      static let kind = 48
      static let label = 56
      static let descriptor = 64
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
    for item in items { _ = table.vacate(table.token(of: item)!) }
    #expect(unsafe load(UnsafeRawPointer.self, of: table, at: Place.Table.slots).load(as: UInt.self) == 0)
  }

  @Test func `a slot says where a debugger looks in which modes its item is`() {
    var resident = Resident.unused
    resident.installed = 0x8000_0000_0000_0005
    let read = unsafe withUnsafeBytes(of: &resident) { bytes in
      unsafe bytes.load(fromByteOffset: Place.Slot.installed, as: UInt64.self)
    }
    #expect(read == resident.installed)
    #expect(MemoryLayout<Resident>.stride == Place.Slot.size)
  }

  @Test func `an item has its kind and its name where a debugger looks`() throws {
    let pipe = TestPipe()
    let source = try Loop.DescriptorSource(pipe.reader, for: .read) { _, _ in }
    let items: [Loop.Item] = [
      Loop.Observer(.entry) { _ in }, Loop.Source {}, Loop.Timer(after: .seconds(1)) { _ in }, source,
    ]
    for item in items {
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
