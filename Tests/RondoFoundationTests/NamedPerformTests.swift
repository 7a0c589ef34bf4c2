import RondoFoundation
import Testing

/// Cancellation by a target and a name, where Apple has a selector.
@Suite struct NamedPerformTests {
  private final class Sensor: NSObject, @unchecked Sendable {
    let stage: FoundationStage
    init(_ stage: FoundationStage) { self.stage = stage }
    func poll() { stage.note("poll") }
    func read(_ register: Int) { stage.note("read\(register)") }
  }

  @Test func `a name cancels the requests of that name alone`() {
    withFoundationStage { stage in
      let sensor = Sensor(stage)
      sensor.perform(Sensor.poll, afterDelay: 1, named: "poll")
      sensor.perform(Sensor.poll, afterDelay: 2, named: "poll")
      sensor.perform(Sensor.read, with: 7, afterDelay: 3, named: "read")
      sensor.perform(Sensor.read, with: 8, afterDelay: 4)
      NSObject.cancelPreviousPerformRequests(withTarget: sensor, named: "poll")
      stage.runLoop.run()
      #expect(stage.text == "read7 read8")
    }
  }

  @Test func `a name belongs to its target`() {
    withFoundationStage { stage in
      let (one, other) = (Sensor(stage), Sensor(stage))
      stage.runLoop.perform(afterDelay: 1, target: one, named: "a") { stage.note("one") }
      stage.runLoop.perform(afterDelay: 1, target: other, named: "a") { stage.note("other") }
      stage.runLoop.cancelPerformSelectors(withTarget: one, named: "a")
      stage.runLoop.run()
      #expect(stage.text == "other")
    }
  }

  @Test func `a request without a delay is cancelled by its name`() {
    withFoundationStage { stage in
      let sensor = Sensor(stage)
      stage.runLoop.perform(Sensor.read, target: sensor, argument: 1, named: "one")
      stage.runLoop.perform(Sensor.read, target: sensor, argument: 2, named: "two")
      stage.runLoop.cancelPerformSelectors(withTarget: sensor, named: "one")
      stage.runLoop.run()
      #expect(stage.text == "read2")
    }
  }

  @Test func `cancelling the target cancels the named requests too`() {
    withFoundationStage { stage in
      let sensor = Sensor(stage)
      sensor.perform(Sensor.poll, afterDelay: 1, named: "poll")
      sensor.perform(Sensor.read, with: 7, afterDelay: 1)
      NSObject.cancelPreviousPerformRequests(withTarget: sensor)
      stage.runLoop.run()
      #expect(stage.text == "")
    }
  }

  @Test func `a name without a request cancels nothing, and so does the second cancellation`() {
    withFoundationStage { stage in
      let sensor = Sensor(stage)
      let request = stage.runLoop.perform(afterDelay: 1, target: sensor, named: "a") { stage.note("never") }
      stage.runLoop.cancelPerformSelectors(withTarget: sensor, named: "b")
      #expect(request.isPending)
      stage.runLoop.cancelPerformSelectors(withTarget: sensor, named: "a")
      stage.runLoop.cancelPerformSelectors(withTarget: sensor, named: "a")
      #expect(!request.isPending)
      stage.runLoop.run()
      #expect(stage.text == "")
    }
  }

  @Test func `a cancelled name frees the target, and a new request of the name is performed`() {
    withFoundationStage { stage in
      weak var freed: Sensor?
      do {
        let sensor = Sensor(stage)
        freed = sensor
        sensor.perform(Sensor.poll, afterDelay: 1, named: "poll")
        NSObject.cancelPreviousPerformRequests(withTarget: sensor, named: "poll")
        sensor.perform(Sensor.poll, afterDelay: 2, named: "poll")
      }
      stage.runLoop.run()
      #expect(stage.text == "poll" && freed == nil)
    }
  }
}
