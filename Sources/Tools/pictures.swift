// Draws the two pictures of the documentation.
//
//   swift Sources/Tools/pictures.swift Sources/Rondo/Rondo.docc/Resources    writes turn.svg and threads.svg there

import Foundation

/// An SVG on a light ground of its own, so that it can be read on a page of any colour.
struct Picture {
  private var parts: [String] = []
  private let width: Int
  private let height: Int
  private let title: String

  init(_ title: String, width: Int, height: Int) {
    (self.title, self.width, self.height) = (title, width, height)
  }

  static func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
  }

  mutating func text(_ text: String, _ x: Double, _ y: Double, _ anchor: String = "middle", _ style: String = "") {
    parts.append(
      String(format: "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"\(anchor)\" class=\"\(style)\">", x, y)
        + Self.escaped(text) + "</text>")
  }

  mutating func circle(_ x: Double, _ y: Double, _ radius: Double, _ style: String) {
    parts.append(String(format: "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"\(style)\"/>", x, y, radius))
  }

  mutating func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ style: String) {
    parts.append(
      String(
        format: "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\" class=\"\(style)\"/>", x, y, width,
        height))
  }

  mutating func path(_ path: String, _ style: String = "arrow") {
    parts.append("<path d=\"\(path)\" class=\"\(style)\"/>")
  }

  var svg: String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" role="img" aria-label="\(title)">
    <style>
    text { font: 14px system-ui, sans-serif; fill: #1b2733; }
    .head { font-weight: bold; }
    .small { font-size: 12px; fill: #46535f; }
    .number { font-weight: bold; fill: #fff; }
    .ground { fill: #f7f8fa; stroke: #d5dbe1; }
    .observers { fill: #5b6f86; }
    .callouts { fill: #c2551d; }
    .own { fill: #7d8a97; }
    .sleep { fill: #1f4e8c; }
    .box { fill: #fff; stroke: #7d8a97; stroke-width: 1.4; }
    .mode { fill: #eef3f9; stroke: #5b6f86; stroke-width: 1.2; }
    .arrow { fill: none; stroke: #46535f; stroke-width: 1.6; marker-end: url(#tip); }
    .ring { fill: none; stroke: #b4bec8; stroke-width: 3; }
    </style>
    <defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">
    <path d="M0 0 L10 5 L0 10 z" fill="#46535f"/></marker></defs>
    <rect x="1" y="1" width="\(width - 2)" height="\(height - 2)" rx="12" class="ground"/>
    \(parts.joined(separator: "\n"))
    </svg>

    """
  }
}

/// The turn as a ring, with the numbers that stand in the code.
func turn() -> String {
  let steps: [(text: String, style: String)] = [
    ("apply mail", "own"), ("beforeTimers observers", "observers"), ("beforeSources observers", "observers"),
    ("blocks, jobs", "callouts"), ("signalled sources", "callouts"), ("beforeWaiting observers", "observers"),
    ("arm, sleep, collect", "sleep"), ("afterWaiting observers", "observers"), ("due timers", "callouts"),
    ("ready descriptors", "callouts"), ("main dispatch queue, blocks, jobs", "callouts"), ("retire; decide", "own"),
  ]
  var picture = Picture("The turn of a run loop, as a ring of twelve steps", width: 760, height: 470)
  let (x, y, radius) = (380.0, 235.0, 150.0)
  picture.circle(x, y, radius, "ring")
  for (index, step) in steps.enumerated() {
    let angle = (Double(index) * 30 - 75) * Double.pi / 180
    let (across, up) = (x + radius * cos(angle), y + radius * sin(angle))
    picture.circle(across, up, 15, step.style)
    picture.text("\(index + 1)", across, up + 5, "middle", "number")
    let side = cos(angle) > 0.3 ? "start" : cos(angle) < -0.3 ? "end" : cos(angle) > 0 ? "start" : "end"
    let lift = sin(angle) < -0.9 ? -8.0 : sin(angle) > 0.9 ? 18.0 : 5.0
    picture.text(step.text, across + (side == "start" ? 24 : -24), up + lift, side)
  }
  picture.text("a turn", x, y - 6, "middle", "head")
  picture.text("again, until the run is over", x, y + 14, "middle", "small")
  picture.text("0", 474, 34, "start", "head")
  picture.text("entry observers", 488, 34, "start")
  picture.path("M 468 38 L 430 74")
  picture.text("13", 286, 34, "end", "head")
  picture.text("exit observers", 264, 34, "end")
  picture.path("M 334 74 L 292 38")
  let legend = [
    ("observers", "observers are told"), ("callouts", "your handlers run"), ("own", "the loop's own work"),
    ("sleep", "the one wait in the kernel"),
  ]
  for (index, entry) in legend.enumerated() {
    let left = 60 + Double(index) * 172
    picture.circle(left, 446, 7, entry.0)
    picture.text(entry.1, left + 14, 450, "start", "small")
  }
  return picture.svg
}

/// Which of these reaches which: threads, mailbox, loop, modes, kernel.
func threads() -> String {
  var picture = Picture("Threads, mailbox, loop, modes and kernel", width: 860, height: 400)
  picture.box(24, 60, 180, 260, "box")
  picture.text("any thread", 114, 86, "middle", "head")
  for (index, line) in [
    "perform { }", "signal(), wakeUp()", "stop(), requestStop()", "add, remove, set dates", "jobs of actors, tasks",
  ]
  .enumerated() {
    picture.text(line, 114, 122 + Double(index) * 38, "middle")
  }
  picture.box(268, 60, 150, 260, "box")
  picture.text("mailbox", 343, 86, "middle", "head")
  for (index, line) in [("mail", "one lock"), ("signals", "a stack without a lock"), ("wake word", "one atomic")]
    .enumerated()
  {
    picture.text(line.0, 343, 136 + Double(index) * 62, "middle")
    picture.text(line.1, 343, 153 + Double(index) * 62, "middle", "small")
  }
  picture.box(482, 24, 200, 332, "box")
  picture.text("the loop's thread", 582, 50, "middle", "head")
  picture.text("turn after turn, no lock", 582, 70, "middle", "small")
  for (index, name) in [".default", "a mode of yours"].enumerated() {
    let top = 92 + Double(index) * 130
    picture.box(502, top, 160, 112, "mode")
    picture.text(name, 582, top + 22, "middle", "head")
    for (line, what) in ["timers, timeouts", "sources, descriptors", "observers"].enumerated() {
      picture.text(what, 582, top + 46 + Double(line) * 21, "middle", "small")
    }
  }
  picture.box(736, 60, 100, 260, "box")
  picture.text("kernel", 786, 86, "middle", "head")
  picture.text("by libevent", 786, 104, "middle", "small")
  for (index, line) in [("epoll set", "one a mode"), ("timerfd", "one a loop"), ("eventfd", "one a loop")].enumerated()
  {
    picture.text(line.0, 786, 148 + Double(index) * 56, "middle")
    picture.text(line.1, 786, 165 + Double(index) * 56, "middle", "small")
  }
  picture.path("M 204 190 L 266 190")
  picture.text("post", 235, 182, "middle", "small")
  picture.path("M 418 190 L 480 190")
  picture.text("step 1", 449, 182, "middle", "small")
  picture.path("M 662 148 L 734 148")
  picture.text("step 7", 706, 140, "middle", "small")
  picture.path("M 662 278 C 700 278 700 165 734 160")
  picture.path("M 343 320 L 343 386 L 786 386 L 786 322")
  picture.text("only if the loop sleeps: one epoll_ctl(2)", 565, 376, "middle", "small")
  return picture.svg
}

guard let directory = CommandLine.arguments.dropFirst().first else {
  FileHandle.standardError.write(Data("usage: draw.swift DIRECTORY\n".utf8))
  exit(64)
}
for (name, svg) in [("turn", turn()), ("threads", threads())] {
  try Data(svg.utf8).write(to: URL(filePath: directory).appending(path: "\(name).svg"))
}
