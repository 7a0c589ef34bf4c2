#if HTTP
  internal import HTTPTypes

  /// Finds the end of a request's head, and what the parser takes though RFC 9112, sections 2.2 and 5, forbids it.
  struct HeadScan {
    /// The most bytes of a head.
    let limit: Int
    /// The first line that is not empty.
    private(set) var line: [UInt8] = []
    /// What is wrong with the first byte that was not taken.
    private(set) var failure: HTTPServerError?
    private var hasLine = false
    private var count = 0
    /// Of the present line, without its end.
    private var lineCount = 0
    private var last: UInt8 = 0

    init(limit: Int) { self.limit = limit }

    /// Whether there were none but empty lines.
    var isBlank: Bool { line.isEmpty && !hasLine && failure == nil && last != 0x0D }

    /// How many of the next bytes belong to the head: those up to the first wrong one, and no more than the head.
    mutating func take(_ bytes: ArraySlice<UInt8>) -> Int {
      for (place, byte) in bytes.enumerated() {
        if count == limit {
          failure = .refused(hasLine ? .requestHeaderFieldsTooLarge : .uriTooLong)
          return place
        }
        // A line ends with both of them, and has none of them: others would end it elsewhere.
        guard (last == 0x0D) == (byte == 0x0A), byte != 0,
          !(hasLine && lineCount == 0 && (byte == 0x20 || byte == 0x09))
        else {
          failure = .malformed("a line of its head has a byte \(byte) that is not allowed there")
          return place
        }
        count += 1
        last = byte
        switch byte {
        case 0x0D: break
        case 0x0A:
          if hasLine, lineCount == 0 { return place + 1 }
          hasLine = !line.isEmpty
          lineCount = 0
        default:
          lineCount += 1
          if !hasLine { line.append(byte) }
        }
      }
      return bytes.count
    }
  }

  /// Finds where a request's body ends, at the latest.
  enum BodyScan {
    case none
    case length(Int)
    /// A body in chunks ends with an empty line. Bytes of it that look the same are given to the parser in two parts.
    case blankLine(matched: Int)

    /// How many of the next bytes the parser is given.
    mutating func take(_ bytes: ArraySlice<UInt8>) -> Int {
      switch self {
      case .none: return 0
      case .length(let left):
        let count = min(left, bytes.count)
        self = .length(left - count)
        return count
      case .blankLine(var matched):
        var count = bytes.count
        for (place, byte) in bytes.enumerated() {
          switch byte {
          case 0x0D: matched = matched == 2 ? 3 : 1
          case 0x0A where matched == 1 || matched == 3: matched += 1
          default: matched = 0
          }
          if matched == 4 {
            (matched, count) = (0, place + 1)
            break
          }
        }
        self = .blankLine(matched: matched)
        return count
      }
    }
  }
#endif
