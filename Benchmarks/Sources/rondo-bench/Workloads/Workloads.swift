/// The workloads there are, in the order of the reports. A new one is a line here and a file beside this one.
enum Workloads {
  static let all: [any Workload] = [
    WakeParked(.oneCore),
    WakeParked(.oneCorePreempting),
    WakeParked(.twoCores),
    TimerLateness.everyMillisecond,
    TimerLateness.everyTenMilliseconds,
    TimerLateness.drift,
  ]
}
