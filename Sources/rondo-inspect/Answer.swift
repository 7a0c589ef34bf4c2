/// What a process answers, as far as it is shown in words.
enum Answer {
  struct Report: Decodable {
    let process: Int
    /// Of CLOCK_MONOTONIC, in nanoseconds.
    let time: Int64
    let program: String
    let loops: [Loop]
    /// Nil of a process whose Rondo is older.
    let servers: [Server]?
  }

  struct Server: Decodable {
    let name: String
    let state: String
    let connections: Int
    let mostConnections: Int?
    let accepted: Int
    let requests: Int
    let limits: [String: Int]
  }

  struct Loop: Decodable {
    let name: String
    let thread: Int
    let threadName: String?
    let activity: String
    let processorTime: Int64?
    let phase: String
    let depth: Int
    let mode: String?
    let callouts: [Callout]
    let hasAnswered: Bool
    let statistics: [String: UInt64]
    let mailed: Mailed
    /// A line each for its modes and its items.
    let contents: [String]
    let timeouts: Timeouts?
    let queues: Queues?
    let measures: [Measures]
    let wakers: [Waker]
    let savable: [Savable]
    let audit: [String]?
  }

  struct Callout: Decodable {
    let kind: String
    let name: String
    let descriptor: Int?
  }

  struct Mailed: Decodable {
    let changes: Int
    let blocks: Int
    let jobs: Int
  }

  struct Timeouts: Decodable {
    let all: Int
    let armed: Int
  }

  struct Queues: Decodable {
    let blocks: Int
    let jobs: Int
  }

  struct Measures: Decodable {
    let kind: String
    let name: String
    let callouts: UInt64
    let wakeups: UInt64
    let coalesced: UInt64
    let missed: UInt64
    let ready: Histogram
    let run: Histogram
  }

  struct Histogram: Decodable {
    let count: Int64
    let mean: Int64
    let p50: Int64
    let p99: Int64
    let max: Int64
  }

  struct Waker: Decodable {
    let reason: String
    let kind: String?
    let name: String?
    let wakeups: Int
    let perSecond: Double
  }

  struct Savable: Decodable {
    let name: String
    let count: Int
    let tolerance: Int64
  }

  struct Stack: Decodable {
    let loop: String
    let thread: Int
    let activity: String
    let callouts: [Callout]
    let stack: [Frame]
  }

  struct Frame: Decodable {
    let address: String
    let function: String?
    let image: String?
    let file: String?
    let line: Int?
    let guess: Bool?
  }
}
