// Does one kind of operation again and again, for `make counts`: `rondo-costs <operation> <count>`, or `list`.

import Glibc
import Rondo
import RondoTestSupport

/// What the table of expectations has a row for, by the name of the row.
let operations: [(name: String, make: (Loop) -> Operation)] = [
  ("turn.descriptor", DescriptorTurns.init),
  ("turn.with-timer", TimedDescriptorTurns.init),
  ("turn.source", SourceTurns.init),
  ("turn.both", BothTurns.init),
  ("turn.watched", WatchedTurns.init),
  ("turn.measured", MeasuredTurns.init),
  ("poll", Polls.init),
  ("more.descriptors", ReadyDescriptors.init),
  ("more.observers", Observers.init),
  ("timer.add", TimersAdded.init),
  ("timer.put-off", TimersPutOff.init),
  ("timer.cancel", TimersCancelled.init),
  ("timer.fire", TimersFired.init),
  ("timer.tick", TimersTicking.init),
  ("timeout.make", TimeoutsMade.init),
  ("timeout.put-off", TimeoutsPutOff.init),
  ("timeout.disarm", TimeoutsDisarmed.init),
  ("timeout.discard", TimeoutsDiscarded.init),
  ("timeout.fire", TimeoutsFired.init),
  ("post", Posts.init),
]

let arguments = CommandLine.arguments
if arguments.dropFirst() == ["list"] {
  for operation in operations { print(operation.name) }
  exit(0)
}
guard arguments.count == 3, let operation = operations.first(where: { $0.name == arguments[1] }),
  let count = Int(arguments[2]), 1...Operation.limit ~= count
else {
  print("usage: rondo-costs list | <operation> <count, at most \(Operation.limit)>")
  exit(2)
}
// Under callgrind it takes a second or two.
endProcess(after: 300)

let subject = operation.make(Loop.current)
// Whatever grows has grown to its size before.
subject.prepare(Operation.limit)
subject.perform(Operation.limit)
subject.check(Operation.limit)
subject.prepare(count)
unsafe counted(Unmanaged.passUnretained(subject).toOpaque(), count)
subject.check(count)
exit(0)
