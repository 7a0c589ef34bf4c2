// Two processes and a named port between them: the parent asks, the child answers until it is told to stop.
import Glibc
import Rondo
import RondoFoundation
import RondoPorts

/// What a message is about.
enum Subject: Int32 {
  case capitals, sum, riddle, stop
}

// MARK: - The child

/// Answers under `name` until it is told to stop.
func serve(_ name: MessagePortName) throws {
  let port = try LocalMessagePort(name) { request in
    switch Subject(rawValue: request.identifier) {
    case .capitals:
      try? request.reply(Data(String(decoding: request.data, as: UTF8.self).uppercased().utf8))
    case .sum:
      // An answer may come later, from anywhere.
      RunLoop.current.getLoop().perform { try? request.reply(Data([request.data.reduce(0, &+)])) }
    case .riddle, nil:
      // A request that is dropped fails at the sender's, which does not wait in vain.
      break
    case .stop:
      RunLoop.current.stop()
    }
  }
  RunLoop.current.add(port, forMode: .default)
  FileHandle.standardOutput.write(Data("ready\n".utf8))
  RunLoop.current.run()
  port.invalidate()
}

// MARK: - The parent

/// Starts the child, asks it, and sees it go.
func ask(_ name: MessagePortName) throws {
  let child = Process()
  child.executableURL = URL(filePath: "/proc/self/exe")
  child.arguments = [name.text]
  let output = Pipe()
  child.standardOutput = output
  try child.run()
  _ = output.fileHandleForReading.availableData

  let port = try RemoteMessagePort(name) { reason in
    print("the child has gone: \(reason)")
    RunLoop.current.stop()
  }
  RunLoop.current.add(port, forMode: .default)

  let hello = try request(port, .capitals, Data("hello".utf8))
  print("in capitals:", String(decoding: hello ?? Data(), as: UTF8.self))
  let sum = try request(port, .sum, Data([1, 2, 3]))
  print("the sum:", sum?.first ?? 0)
  do {
    _ = try request(port, .riddle, Data())
  } catch {
    print("no answer:", error)
  }
  try port.send(Data(), identifier: Subject.stop.rawValue, timeout: .seconds(10))
  RunLoop.current.run()
  child.waitUntilExit()
}

func request(_ port: RemoteMessagePort, _ subject: Subject, _ data: Data) throws(MessagePortError) -> Data? {
  try port.request(data, identifier: subject.rawValue, sendTimeout: .seconds(10), replyTimeout: .seconds(60))
}

if let name = CommandLine.arguments.dropFirst().first {
  try serve(MessagePortName(name))
} else {
  try ask(MessagePortName("message-port-pair-\(getpid())"))
}
