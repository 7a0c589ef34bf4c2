import Rondo
import RondoTesting
import Testing

@Suite struct ObserverTests {
  @Test func `activities have CFRunLoop's raw values`() {
    let all: [Loop.Activity] = [.entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit, .all]
    #expect(all.map(\.rawValue) == [1, 2, 4, 32, 64, 128, 0x0FFF_FFFF])
  }

  @Test func `an observer is told only what it asked for`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.observer([.entry, .beforeWaiting]) { stage.note("\($0)") }
      stage.loop.run(for: .milliseconds(1))
      #expect(stage.text == "entry beforeWaiting")
    }
  }

  @Test func `observers are told by order, then in the order they were added`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      for (name, order) in [("d", 7), ("b", 0), ("a", -1), ("c", 0)] {
        stage.observer(.entry, order: order) { _ in stage.note(name) }
      }
      stage.loop.run(for: .zero)
      #expect(stage.text == "a b c d")
    }
  }

  @Test func `a one-shot observer is told once, whatever it asked for`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      let once = stage.observer(.all, repeats: false) { stage.note("\($0)") }
      stage.loop.run(for: .milliseconds(1))
      #expect(stage.text == "entry")
      #expect(!once.isValid)
    }
  }

  @Test func `a one-shot observer is valid in its callout`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      let once = Later<Loop.Observer>()
      once.value = stage.observer(.entry, repeats: false) { _ in stage.note("\(once.value.isValid)") }
      stage.loop.run(for: .zero)
      #expect(stage.text == "true")
    }
  }

  @Test func `an observer that a sibling removes is not told`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      let second = Later<Loop.Observer>()
      stage.observer(.entry) { _ in
        stage.note("a")
        stage.loop.remove(second.value)
      }
      second.value = stage.observer(.entry) { _ in stage.note("b") }
      stage.loop.run(for: .zero)
      #expect(stage.text == "a")
    }
  }

  @Test func `an observer that a sibling invalidates is not told`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      let second = Later<Loop.Observer>()
      stage.observer(.entry) { _ in second.value.invalidate() }
      second.value = stage.observer(.entry) { _ in stage.note("b") }
      stage.loop.run(for: .zero)
      #expect(stage.text == "")
    }
  }

  @Test func `an observer that a sibling adds is told the next activity`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.observer(.beforeTimers) { _ in stage.observer(.all) { stage.note("\($0)") } }
      stage.loop.run(for: .zero)
      #expect(stage.text == "beforeSources exit")
    }
  }

  @Test func `an observer may invalidate itself and go on in its callout`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      let observer = Later<Loop.Observer>()
      observer.value = stage.observer(.all) { _ in
        observer.value.invalidate()
        observer.value = nil
        stage.note("a")
      }
      stage.loop.run(for: .zero)
      #expect(stage.text == "a")
    }
  }

  @Test func `an observer in two modes is told in both`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.keepAlive(in: "m")
      let observer = stage.observer(.entry) { _ in stage.note(stage.loop.currentMode == .default ? "d" : "m") }
      stage.loop.add(observer, to: "m")
      stage.loop.run(for: .zero)
      stage.loop.run(in: "m", for: .zero)
      stage.loop.remove(observer)
      stage.loop.run(for: .zero)
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "d m m")
    }
  }

  @Test func `an observer is in one loop at a time`() {
    withStage(isObserved: false) { stage in
      let observer = stage.observer(.all) { _ in }
      withStage(isObserved: false) { other in
        #expect(!other.loop.add(observer))
        #expect(stage.loop.contains(observer))
        #expect(!other.loop.contains(observer))
      }
    }
  }

  @Test func `an observer in a nested run's callout is not told by the nested run`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.observer(.beforeTimers) { _ in
        stage.note("a")
        stage.loop.run(for: .zero)
      }
      stage.observer([.entry, .beforeTimers, .exit], order: 1) { stage.note("\($0)") }
      stage.loop.run(for: .zero)
      #expect(stage.text == "entry a entry beforeTimers exit beforeTimers exit")
    }
  }

  @Test func `a turn that handled a source shows no waiting, the next one does`() {
    withStage { stage in
      stage.source("a").signal()
      stage.loop.run(for: .milliseconds(1))
      #expect(stage.text == "E BT BS a BT BS BW AW X")
    }
  }

  @Test func `an observer added while the loop sleeps is told after waiting`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.virtual.at(.milliseconds(1)) {
        stage.observer(.all) { stage.note("\($0)") }
        stage.loop.wakeUp()
      }
      stage.loop.run(for: .milliseconds(1))
      #expect(stage.text == "afterWaiting exit")
    }
  }

  @Test func `adding an observer twice has it told once`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      let observer = stage.observer(.entry) { _ in stage.note("a") }
      stage.loop.add(observer)
      stage.loop.add(observer, to: .common)
      stage.loop.run(for: .zero)
      #expect(stage.text == "a")
    }
  }
}
