import Rondo
import RondoTesting
import Testing

/// Sources that wait for the peer's close alone are edge-triggered underneath; what comes of that.
@Suite struct DescriptorTriggerTests {
  @Test func `a close that a run leaves behind is told by the next`() {
    let text = onLoopThread { stage in
      for index in 0..<3 {
        let sockets = stage.sockets()
        stage.descriptor("\(index)", sockets.near, for: .closed, order: index)
        sockets.closeFar()
      }
      for _ in 0..<4 {
        stage.loop.run(for: .zero, returnAfterSourceHandled: true)
        stage.note("|")
      }
      return stage.text
    }
    #expect(text == "0 | 1 | 2 | |")
  }

  @Test func `an edge that a turn has collected is told by the run in one of its callouts, once`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("edge", pipe.reader, for: .read, trigger: .edge)
      stage.keepAlive()
      pipe.write(1)
      stage.timer("timer", after: .zero) { _ in
        stage.note("(")
        stage.note("\(stage.loop.run(for: .zero, returnAfterSourceHandled: true))")
        stage.note(")")
      }
      stage.loop.run(for: .zero)
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "timer ( edge handledSource )")
  }

  @Test func `an edge that the turn before has told is not told again by a run nested in the next`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("edge", pipe.reader, for: .read, trigger: .edge)
      stage.keepAlive()
      pipe.write(1)
      stage.observer(.beforeTimers) { _ in
        guard stage.text == "edge" else { return }
        stage.note("(")
        stage.loop.run(for: .zero)
        stage.note(")")
        stage.loop.stop()
      }
      stage.loop.run(for: .seconds(60))
      return stage.text
    }
    #expect(text == "edge ( )")
  }

  @Test func `a source that waited for the close alone is told in every turn once it reads as well`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      let source = stage.descriptor("d", pipe.reader, for: .closed)
      stage.loop.run(for: .zero)
      source.enable(.read)
      pipe.write(1)
      for _ in 0..<3 { stage.loop.run(for: .zero) }
      return stage.text
    }
    #expect(text == "d d d")
  }

  @Test func `unread data does not keep the loop awake for a source that reads no more`() {
    let (text, turns) = onLoopThread { stage in
      let sockets = stage.sockets()
      let source = stage.descriptor("d", sockets.near, for: [.read, .closed])
      sockets.send()
      stage.loop.run(for: .zero)
      source.disable(.read)
      stage.loop.run(for: .milliseconds(20))
      return (stage.text, stage.loop.statistics.turns)
    }
    #expect(text == "d")
    // The change itself is one more edge.
    #expect(turns <= 4)
  }
}
