import Glibc
import Rondo
import RondoTestBridge
import RondoTestSupport
import RondoTesting
import Testing

@testable import RondoDaemon

/// Pressure stall information: what is written, what is read, and who is told.
@Suite struct PressureTests {
  // MARK: - Text

  @Test func `what the kernel writes is read`() throws {
    let text = """
      some avg10=1.50 avg60=0.25 avg300=100.00 total=1234567
      full avg10=0.00 avg60=0.00 avg300=0.00 total=89 later=x

      """
    let pressure = try #require(Pressure(text))
    #expect(pressure.some.last10 == 1.5 && pressure.some.last60 == 0.25 && pressure.some.last300 == 100)
    #expect(pressure.some.total == .microseconds(1_234_567) && pressure.full?.total == .microseconds(89))
    // The processors' file of older kernels has no second line.
    #expect(Pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=0")?.full == nil)
  }

  @Test(arguments: [
    "", "full avg10=0.00 avg60=0.00 avg300=0.00 total=0", "some avg10=0.00 avg60=0.00 total=0",
    "some avg10=x avg60=0.00 avg300=0.00 total=0", "some avg10=0.00 avg60=0.00 avg300=0.00 total=-1",
    "some avg10=nan avg60=0.00 avg300=0.00 total=1", "some avg10=0.00 avg10=0.00 avg60=0.00 avg300=0.00 total=1",
    "some avg10 avg60=0.00 avg300=0.00 total=1",
  ])
  func `anything else is nothing`(_ text: String) {
    #expect(Pressure(text) == nil)
  }

  @Test func `a trigger is written as the kernel reads it`() throws {
    let system = try PressureSource.Trigger.system(of: .milliseconds(150), in: .seconds(2))
    #expect(system.path == "/proc/pressure/memory")
    #expect(String(decoding: system.text, as: UTF8.self) == "some 150000 2000000\0")
    let group = try PressureSource.Trigger.group("/g/h/", .io, .full, of: .microseconds(1), in: .milliseconds(500))
    #expect(group.path == "/g/h/io.pressure")
    #expect(String(decoding: group.text, as: UTF8.self) == "full 1 500000\0")
  }

  @Test(arguments: [
    (Duration.seconds(3), Duration.seconds(2)), (.zero, .seconds(1)), (.nanoseconds(999), .seconds(1)),
    (.seconds(-1), .seconds(1)), (.milliseconds(1), .milliseconds(499)), (.milliseconds(1), .seconds(11)),
    (.seconds(Int64.max), .seconds(Int64.max)),
  ])
  func `a trigger that no kernel takes is refused`(_ stall: Duration, _ window: Duration) {
    #expect(throws: PressureError.outOfRange(stall: stall, window: window)) {
      try PressureSource.Trigger.system(of: stall, in: window)
    }
  }

  @Test func `systemd's variables say what to watch`() throws {
    func trigger(_ path: String?, _ text: String?) throws -> PressureSource.Trigger? {
      var environment: [String: String] = [:]
      environment["MEMORY_PRESSURE_WATCH"] = path
      environment["MEMORY_PRESSURE_WRITE"] = text
      return try .service(environment: environment)
    }
    let path = "/sys/fs/cgroup/system.slice/a.service/memory.pressure"
    #expect(try trigger(path, "c29tZSAyMDAwMDAgMjAwMDAwMAA=")?.text == Array("some 200000 2000000\0".utf8))
    #expect(try trigger(path, nil)?.text == [])
    #expect(try trigger(nil, "x") == nil && trigger("/dev/null", "x") == nil)
    for text in ["x", "====", "c29t=2Ay", "c2 =", "c2-=", "YR=="] {
      #expect(throws: PressureError.malformed(variable: "MEMORY_PRESSURE_WRITE", value: text)) {
        try trigger(path, text)
      }
    }
    #expect(throws: PressureError.malformed(variable: "MEMORY_PRESSURE_WATCH", value: "a")) { try trigger("a", nil) }
  }

  // MARK: - Files

  private func error(_ path: String, _ text: String = "x") -> PressureError? {
    do throws(PressureError) {
      _ = try PressureSource(.init(path: path, text: Array(text.utf8))) { _, _ in }
      return nil
    } catch {
      return error
    }
  }

  @Test func `where there is no such thing, that is said`() throws {
    #expect(error("/nowhere/memory.pressure") == .unavailable("/nowhere/memory.pressure"))
    #expect(error("/proc/self/status/x") == .unavailable("/proc/self/status/x"))
    #expect(error("/tmp") == .notPressure("/tmp"))
    #expect(error("/dev/null") == .notPressure("/dev/null"))
    #expect(error("/tmp/\0") == .notPressure("/tmp/\0"))
  }

  @Test func `a plain file is not written into`() throws {
    let path = "/tmp/\(uniqueName())"
    let file = unsafe fopen(path, "w")!
    unsafe fputs("precious", file)
    unsafe fclose(file)
    defer { _ = unsafe unlink(path) }
    #expect(error(path) == .notPressure(path))
    let again = unsafe fopen(path, "r")!
    var room = [CChar](repeating: 0, count: 32)
    _ = unsafe fgets(&room, 32, again)
    unsafe fclose(again)
    #expect(room.prefix(9) == Array("precious\0".utf8CString.dropLast())[...])
  }

  @Test func `no other file of the kernel's is written into`() {
    // Each takes what is written; the first can be waited for as well.
    let files = ["/proc/sys/kernel/hostname", "/proc/self/comm", "/proc/self/oom_score_adj"]
    for path in files { #expect(error(path, "") == .notPressure(path)) }
  }

  @Test(.offThePool) func `without a descriptor left it is said, and none is lost`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Starving.run) }
  }

  @Test func `a pipe that stands for the kernel's file is heard, once for all that came`() throws {
    let path = "/tmp/\(uniqueName())"
    try #require(unsafe mkfifo(path, 0o600) == 0)
    defer { _ = unsafe unlink(path) }
    try onLoopThread { stage in
      let source = try PressureSource(.init(path: path, text: [])) { _, event in stage.note("\(event)") }
      stage.loop.add(source)
      stage.look()
      #expect(stage.text == "" && source.pressure == nil)
      for _ in 0..<2 {
        for _ in 0..<3 {
          let writer = unsafe open(path, O_WRONLY)
          _ = unsafe write(writer, "x", 1)
          close(writer)
        }
        stage.look()
      }
      #expect(stage.text == "stalled(nil) stalled(nil)")
      source.invalidate()
      #expect(!source.isValid)
    }
  }

  // MARK: - The kernel's

  /// Foundation's wait would take the kernel's word from the loop.
  @Test(.enabled(if: unsafe access("/proc/pressure/cpu", R_OK | W_OK) == 0 && !isBridged))
  func `who keeps the processors busy is told of, with what is true now`() throws {
    try onLoopThread { stage in
      let told = Later<Pressure>()
      let trigger = try PressureSource.Trigger.system(.cpu, of: .microseconds(100), in: .seconds(2))
      let source = try PressureSource(trigger) { source, event in
        if case .stalled(let pressure) = event { told.value = pressure }
        stage.note("\(source.trigger.path)")
      }
      stage.loop.add(source)
      // More of them than there are processors, so that some wait.
      let isOver = SharedNumber()
      let hogs = (0..<2 * usableProcessors().count + 2).map { _ in
        TestThread { while isOver.value == 0 { for _ in 0..<1_000 { sched_yield() } } }
      }
      stage.run { told.value != nil }
      isOver.add(1)
      for hog in hogs { hog.join() }
      let pressure = try #require(told.value)
      #expect(pressure.some.total > .zero && stage.text.hasPrefix("/proc/pressure/cpu"))
      source.invalidate()
    }
  }

  @Test(.enabled(if: unsafe access("/proc/pressure/memory", R_OK | W_OK) == 0))
  func `memory can be watched, and its pressure read at any time`() throws {
    try onLoopThread { stage in
      let trigger = try PressureSource.Trigger.system(of: .milliseconds(1_900), in: .seconds(2))
      let source = try PressureSource(trigger) { _, _ in }
      stage.loop.add(source)
      stage.look()
      #expect(source.pressure!.some.total >= .zero && source.pressure!.full != nil)
      source.invalidate()
    }
  }

  @Test func `a group that goes ends its source, and says so`() throws {
    // Only who may make groups can remove one.
    let places = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map { "\($0)/\(uniqueName())" }
    guard let group = places.first(where: { unsafe mkdir($0, 0o700) == 0 }) else { return }
    defer { _ = unsafe rmdir(group) }
    guard unsafe access("\(group)/memory.pressure", R_OK | W_OK) == 0 else { return }
    try onLoopThread { stage in
      let trigger = try PressureSource.Trigger.group(group, of: .milliseconds(100), in: .seconds(2))
      let source = try PressureSource(trigger) { source, event in stage.note("\(event) \(source.isValid)") }
      stage.loop.add(source)
      stage.look()
      #expect(stage.text == "" && source.isValid)
      try #require(unsafe rmdir(group) == 0)
      stage.run { !source.isValid }
      #expect(stage.text == "gone false" && source.pressure == nil)
    }
  }
}

private enum Starving {
  static func run() {
    let path = "/tmp/\(uniqueName())"
    precondition(unsafe mkfifo(path, 0o600) == 0)
    defer { _ = unsafe unlink(path) }
    let lowest = dup(STDIN_FILENO)
    close(lowest)
    var limit = rlimit()
    precondition(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    let soft = limit.rlim_cur
    limit.rlim_cur = rlim_t(lowest)
    precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    // A leak detector opens files when the process ends.
    defer {
      limit.rlim_cur = soft
      precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    }
    for trigger in [PressureSource.Trigger(path: path, text: [])] {
      do throws(PressureError) {
        _ = try PressureSource(trigger) { _, _ in }
        fatalError("There is a descriptor left.")
      } catch {
        precondition(error == .exhausted, "\(error)")
      }
    }
  }
}
