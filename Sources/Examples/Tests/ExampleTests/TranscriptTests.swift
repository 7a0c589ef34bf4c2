import Foundation
import Testing

/// One program for Foundation's run loop, compiled with each of the two imports.
@Suite struct TranscriptTests {
  @Test func `a program for Foundation prints the same when only its import changes`() throws {
    let foundation = try lines(of: "transcript")
    let rondo = try lines(of: "transcript-rondo")
    #expect(foundation.count == 16)
    #expect(foundation == rondo)
  }

  @Test(arguments: ["main.swift", "Support.swift"]) func `the two programs are the same files`(_ name: String) throws {
    let examples = URL(filePath: #filePath).appending(path: "../../../CFRunLoop").standardized
    let shared = examples.appending(path: "transcript-rondo/\(name)").resolvingSymlinksInPath()
    #expect(shared == examples.appending(path: "transcript/\(name)").resolvingSymlinksInPath())
  }

  @Test func `the program names every member of the classes it is about`() throws {
    let examples = URL(filePath: #filePath).appending(path: "../../../CFRunLoop").standardized
    let program = try String(contentsOf: examples.appending(path: "transcript/main.swift"), encoding: .utf8)
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
