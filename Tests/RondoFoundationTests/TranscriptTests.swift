import RondoFoundation
import Testing

/// One program for Foundation's run loop, compiled with each of the two imports.
@Suite struct TranscriptTests {
  @Test func `a program for Foundation prints the same when only its import changes`() throws {
    let foundation = try lines(of: "transcript-foundation")
    let rondo = try lines(of: "transcript-rondo")
    #expect(foundation.filter { !$0.isEmpty }.count == 16)
    #expect(foundation == rondo)
  }

  @Test func `the two programs are one file`() throws {
    let tests = URL(filePath: #filePath).appending(path: "../..").standardized
    let shared = tests.appending(path: "TranscriptRondo/main.swift").resolvingSymlinksInPath()
    #expect(shared == tests.appending(path: "TranscriptFoundation/main.swift").resolvingSymlinksInPath())
  }

  @Test func `the program names every member of the classes it is about`() throws {
    let tests = URL(filePath: #filePath).appending(path: "../..").standardized
    let program = try String(contentsOf: tests.appending(path: "TranscriptFoundation/main.swift"), encoding: .utf8)
    let members = [
      "RunLoop.current", "RunLoop.main", ".currentMode", ".add(", ".limitDate(forMode:", ".acceptInput(forMode:",
      ".run()", ".run(until:", ".run(mode:", ".perform {", ".perform(inModes:", "RunLoop.Mode(\"", "Mode(rawValue:",
      "Mode.default", "Mode.common", "Timer(fire:", "Timer(timeInterval:", "Timer.scheduledTimer(withTimeInterval:",
      ".fire()", ".fireDate", ".timeInterval", ".tolerance", ".invalidate()", ".isValid", ".userInfo",
      "NotificationQueue.default", "NotificationQueue(notificationCenter:", "postingStyle: .now", ".asap", ".whenIdle",
      "SocketPort()", "SocketPort(tcpPort:", "SocketPort(remoteWithTCPPort:", "remoteWithProtocolFamily:", ".address",
      ".protocolFamily", ".socketType", ".protocol", ".socket ", ".setDelegate(", ".delegate()", ".reservedSpaceLength",
      ".send(before:", "msgid:", ".msgid", ".components", ".sendPort", ".receivePort", ".copy()",
      "PortMessage(", "Port.didBecomeInvalidNotification", ".remove(local",
      "coalesceMask:", ".none", ".onName", ".onSender", "forModes:", ".dequeueNotifications(matching:",
    ]
    for member in members { #expect(program.contains(member), "\(member)") }
  }
}
