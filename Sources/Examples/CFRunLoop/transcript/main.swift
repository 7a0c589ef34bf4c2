// A program for Foundation's run loop, compiled twice: once with each import. Nothing else differs.
#if RONDO
  import RondoFoundation
#else
  import Foundation
#endif

// MARK: - RunLoop

func identity() {
  let main = RunLoop.main
  note("main is current \(RunLoop.current === main)")
  note("equal \(RunLoop.current == main) \(RunLoop.current.hash == main.hash) \(Set([main, RunLoop.current]).count)")
  note("current mode \(RunLoop.current.currentMode as Any)")
  onThread {
    note("another thread's differs \(RunLoop.current !== RunLoop.main && RunLoop.current != RunLoop.main)")
    note("main is the same \(RunLoop.main === RunLoop.main)")
  }
  section("identity")
}

func modes() {
  note(RunLoop.Mode.default.rawValue)
  note(RunLoop.Mode.common.rawValue)
  note("\(RunLoop.Mode("a") == RunLoop.Mode(rawValue: "a")) \(RunLoop.Mode("a") != RunLoop.Mode("b"))")
  note(
    "\(Set([RunLoop.Mode("a"), RunLoop.Mode("a"), .default]).count) \(RunLoop.Mode("a").hashValue == RunLoop.Mode("a").hashValue)"
  )
  section("modes")
}

func emptyModes() {
  onThread {
    let loop = RunLoop.current
    note("run \(loop.run(mode: .default, before: .distantFuture))")
    note("unknown \(loop.run(mode: RunLoop.Mode("unknown"), before: .distantFuture))")
    note("limit \(loop.limitDate(forMode: .default) as Any) \(loop.limitDate(forMode: RunLoop.Mode("unknown")) as Any)")
    loop.acceptInput(forMode: RunLoop.Mode.default.rawValue, before: .distantFuture)
    loop.run(until: .distantFuture)
    loop.run()
    note("back")
  }
  section("nothing to do")
}

func otherThreads() {
  let shared = Shared(RunLoop.main)
  onThread {
    let other = shared.value
    note("run \(other.run(mode: .default, before: .distantFuture))")
    note("limit \(other.limitDate(forMode: .default) as Any)")
    other.acceptInput(forMode: RunLoop.Mode.default.rawValue, before: .distantFuture)
    other.run(until: .distantFuture)
    other.run()
    note("back")
  }
  section("another thread's loop")
}

func blocks() {
  onThread {
    let loop = RunLoop.current
    let shared = Shared(loop)
    loop.perform { note("1 in \(shared.value.currentMode!.rawValue)") }
    loop.perform(inModes: [RunLoop.Mode("other")]) { note("never") }
    loop.perform(inModes: [.default, RunLoop.Mode("other")]) { note("2") }
    loop.perform(inModes: [.common]) { note("3") }
    loop.perform {
      note("4")
      shared.value.perform { note("6") }
    }
    loop.perform { note("5") }
    note("ran \(loop.run(mode: .default, before: soon(0.05)))")
    note("mode afterwards \(loop.currentMode as Any)")
  }
  section("blocks")
}

func blocksAcrossThreads() {
  let shared = Shared<RunLoop?>(nil)
  let isReady = DispatchSemaphore(value: 0)
  let isDone = DispatchSemaphore(value: 0)
  let stops = Count()
  Thread {
    let loop = RunLoop.current
    shared.value = loop
    let keepAlive = Timer(timeInterval: 0.002, repeats: true) { _ in }
    keepAlive.fireDate = soon(0.002)
    loop.add(keepAlive, forMode: .default)
    isReady.signal()
    while stops.value == 0 { loop.run(until: soon(0.01)) }
    isDone.signal()
  }.start()
  isReady.wait()
  let loop = shared.value!
  for number in 1...5 { loop.perform { note("\(number)") } }
  loop.perform { _ = stops.next() }
  isDone.wait()
  section("blocks from another thread")
}

// MARK: - Timers

func timerProperties() {
  let date = soon(100)
  let repeating = Timer(fire: date, interval: 3, repeats: true) { _ in }
  note("\(repeating.fireDate == date) \(repeating.timeInterval) \(repeating.isValid) \(repeating.userInfo == nil)")
  let once = Timer(fire: date, interval: 3, repeats: false) { _ in }
  note("\(once.fireDate == date) \(once.timeInterval)")
  let past = Date(timeIntervalSinceNow: -100)
  once.fireDate = past
  note("past \(once.fireDate == past)")
  repeating.fireDate = .distantFuture
  note("far \(repeating.fireDate.timeIntervalSinceReferenceDate)")
  once.tolerance = 0
  note("tolerance \(once.tolerance)")
  once.invalidate()
  once.invalidate()
  once.fire()
  once.fireDate = date
  note("invalid \(once.isValid) \(once.timeInterval) \(once.fireDate.timeIntervalSinceReferenceDate)")
  note("identity \(once == once) \(once != repeating) \(once.hash == once.hash)")
  section("timer properties")
}

func timers() {
  onThread {
    let loop = RunLoop.current
    let start = Date()
    let scheduled = Timer.scheduledTimer(withTimeInterval: 0.06, repeats: false) { timer in
      note("c valid \(timer.isValid) early \(Date() < start.addingTimeInterval(0.06))")
    }
    let dates: [(String, TimeInterval)] = [("b", 0.04), ("a", 0.02), ("d", 0.08)]
    for (name, delay) in dates {
      let timer = Timer(fire: start.addingTimeInterval(delay), interval: 0, repeats: false) { timer in
        note("\(name) valid \(timer.isValid) early \(Date() < start.addingTimeInterval(delay))")
      }
      loop.add(timer, forMode: .default)
    }
    loop.run()
    note("nothing left \(scheduled.isValid) \(loop.run(mode: .default, before: .distantFuture))")
  }
  section("one-shots")

  onThread {
    let count = Count()
    let timer = Timer.scheduledTimer(withTimeInterval: 0.005, repeats: true) { timer in
      note("\(count.next()) \(timer.isValid)")
      if count.value == 3 { timer.invalidate() }
    }
    RunLoop.current.run()
    note("\(timer.isValid) \(timer.timeInterval)")
  }
  section("repeating")

  onThread {
    let loop = RunLoop.current
    let once = Timer(timeInterval: 100, repeats: false) { note("once \($0.isValid)") }
    once.fireDate = soon(100)
    let fires = Count()
    let repeating = Timer(timeInterval: 100, repeats: true) { note("repeating \(fires.next()) \($0.isValid)") }
    repeating.fireDate = soon(100)
    loop.add(once, forMode: .default)
    loop.add(repeating, forMode: .default)
    once.fire()
    repeating.fire()
    repeating.fire()
    note("\(once.isValid) \(repeating.isValid)")
    repeating.fireDate = soon(0.01)
    run { fires.value == 3 }
    repeating.invalidate()
    loop.run()
  }
  section("fired by hand and brought forward")

  onThread {
    let loop = RunLoop.current
    let other = RunLoop.Mode("other")
    let keepAlive = Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }
    loop.add(keepAlive, forMode: .default)
    let fires = Count()
    let here = Timer(fire: soon(0.01), interval: 0, repeats: false) { _ in note("default") }
    let there = Timer(fire: soon(0.01), interval: 0, repeats: false) { _ in note("other") }
    let both = Timer(fire: soon(0.02), interval: 0, repeats: false) { _ in note("both \(fires.next())") }
    loop.add(here, forMode: .default)
    loop.add(there, forMode: other)
    loop.add(both, forMode: .default)
    loop.add(both, forMode: other)
    run { fires.value == 1 }
    note("|")
    note("\(loop.run(mode: other, before: .distantFuture)) \(loop.run(mode: other, before: .distantFuture))")
    keepAlive.invalidate()
  }
  section("timers in modes")

  onThread {
    let loop = RunLoop.current
    let outer = Timer(fire: soon(0.01), interval: 0, repeats: false) { _ in
      note("[ \(RunLoop.current.currentMode!.rawValue)")
      let inner = Timer(fire: soon(0.01), interval: 0, repeats: false) { _ in
        note("inner \(RunLoop.current.currentMode!.rawValue)")
      }
      RunLoop.current.add(inner, forMode: RunLoop.Mode("inner"))
      note("\(RunLoop.current.run(mode: RunLoop.Mode("inner"), before: .distantFuture))")
      note("\(RunLoop.current.run(mode: RunLoop.Mode("inner"), before: .distantFuture)) ]")
    }
    loop.add(outer, forMode: .default)
    loop.run()
  }
  section("nested")
}

func limits() {
  onThread {
    let loop = RunLoop.current
    let timer = Timer(fire: soon(1000), interval: 0, repeats: false) { _ in note("never") }
    loop.add(timer, forMode: .default)
    let due = Timer(fire: Date(), interval: 0, repeats: false) { _ in note("due") }
    loop.add(due, forMode: .default)
    loop.perform { note("block") }
    _ = loop.limitDate(forMode: .default)
    let limit = loop.limitDate(forMode: .default)!
    note("\(abs(limit.timeIntervalSince(timer.fireDate)) < 1)")
    let start = Date()
    loop.acceptInput(forMode: RunLoop.Mode.default.rawValue, before: soon(0.02))
    note("early \(Date() < start.addingTimeInterval(0.02))")
    loop.run(until: start.addingTimeInterval(0.05))
    note("early \(Date() < start.addingTimeInterval(0.05))")
    note("past \(loop.run(mode: .default, before: .distantPast))")
    timer.invalidate()
  }
  section("limits")
}

// MARK: - The main thread

func mainThread() {
  let count = Count()
  DispatchQueue.main.async { note("main queue \(count.next()) \(Thread.isMainThread)") }
  run { count.value == 1 }
  Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in
    note("main timer \(count.next()) \(Thread.isMainThread)")
  }.tolerance = 0
  run { count.value == 2 }
  note("limit \(RunLoop.main.limitDate(forMode: .default) == .distantFuture)")
  section("the main thread")
}

// MARK: - Notification queues

func notificationQueues() {
  onThread {
    let count = Count()
    let center = NotificationCenter()
    let queue = NotificationQueue(notificationCenter: center)
    let names = ["now", "asap", "idle", "gone", "other"].map { Notification.Name($0) }
    let observers = names.map { name in
      center.addObserver(forName: name, object: nil, queue: nil) { note("\($0.name.rawValue) \(count.next())") }
    }
    let keepAlive = Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }
    RunLoop.current.add(keepAlive, forMode: .default)
    queue.enqueue(Notification(name: names[0]), postingStyle: .now)
    note("|")
    for _ in 0..<3 { queue.enqueue(Notification(name: names[1]), postingStyle: .asap) }
    queue.enqueue(Notification(name: names[3]), postingStyle: .asap)
    queue.dequeueNotifications(matching: Notification(name: names[3]), coalesceMask: .onName)
    RunLoop.current.run(until: soon(0.01))
    note("|")
    for _ in 0..<3 { queue.enqueue(Notification(name: names[2]), postingStyle: .whenIdle) }
    run { count.value == 3 }
    note("|")
    let other = RunLoop.Mode("other")
    RunLoop.current.add(keepAlive, forMode: other)
    for mask in [NotificationQueue.NotificationCoalescing.onName, .onSender, [.onName, .onSender]] {
      queue.enqueue(Notification(name: names[4]), postingStyle: .asap, coalesceMask: mask, forModes: [.default, other])
    }
    RunLoop.current.run(until: soon(0.01))
    note("|")
    for _ in 0..<2 {
      queue.enqueue(Notification(name: names[4]), postingStyle: .asap, coalesceMask: .none, forModes: nil)
    }
    RunLoop.current.run(until: soon(0.01))
    keepAlive.invalidate()
    for observer in observers { center.removeObserver(observer) }
    note("default \(NotificationQueue.default === NotificationQueue.default)")
    note("\([NotificationQueue.PostingStyle.whenIdle, .asap, .now].map(\.rawValue))")
    note("\([NotificationQueue.NotificationCoalescing.none, .onName, .onSender].map(\.rawValue))")
  }
  section("notification queues")
}

// MARK: - Ports

final class Receiver: NSObject, PortDelegate {
  private(set) var messages: [PortMessage] = []
  func handle(_ message: PortMessage) { messages.append(message) }
}

func describe(_ message: PortMessage) -> String {
  let texts = (message.components ?? []).map { String(decoding: ($0 as! NSData) as Data, as: UTF8.self) }
  return "\(message.msgid) \(texts) from a port \(message.sendPort is SocketPort)"
}

func ports() {
  onThread {
    let local = SocketPort(tcpPort: 0)!
    let receiver = Receiver()
    local.setDelegate(receiver)
    let bytes = [UInt8](local.address)
    let number = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    note("numbers \(local.protocolFamily) \(local.socketType) \(local.protocol) \(bytes.count) \(number >= 1024)")
    note("delegate \(local.delegate() === receiver) socket \(local.socket >= 0) space \(local.reservedSpaceLength)")
    let remote = SocketPort(remoteWithTCPPort: number, host: "127.0.0.1")!
    let same = SocketPort(
      remoteWithProtocolFamily: remote.protocolFamily, socketType: remote.socketType, protocol: remote.protocol,
      address: remote.address)
    note("equal \(remote == same) \(remote.hash == same.hash) \(remote == local) \(SocketPort() == SocketPort())")
    note("copy \(local.copy() as? SocketPort === local) valid \(local.isValid) \(remote.isValid)")
    RunLoop.current.add(local, forMode: .default)
    RunLoop.current.add(local, forMode: .default)
    for number in 0..<2 {
      let components = NSMutableArray(array: [Data("a message of some length".utf8), Data("and more".utf8)])
      note("sent \(remote.send(before: soon(60), msgid: number, components: components, from: local, reserved: 0))")
      run { receiver.messages.count == number + 1 }
    }
    let message = PortMessage(
      sendPort: remote, receivePort: local, components: [Data("a third one, not too short".utf8) as NSData])
    message.msgid = 7
    note("sent \(message.send(before: soon(60))) \(message.copy() as? PortMessage === message)")
    run { receiver.messages.count == 3 }
    for message in receiver.messages {
      note("\(describe(message)) \(message.receivePort === local)")
    }
    let text = NSMutableArray(array: ["text"])
    note("a text \(remote.send(before: soon(60), components: text, from: nil, reserved: 0))")
    let observer = NotificationCenter.default.addObserver(
      forName: Port.didBecomeInvalidNotification, object: local, queue: nil
    ) { _ in note("invalid") }
    RunLoop.current.remove(local, forMode: .default)
    local.invalidate()
    note("valid \(local.isValid)")
    NotificationCenter.default.removeObserver(observer)
  }
  section("ports")
}

identity()
modes()
emptyModes()
otherThreads()
blocks()
blocksAcrossThreads()
timerProperties()
timers()
limits()
mainThread()
notificationQueues()
ports()
