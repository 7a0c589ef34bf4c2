import Glibc
import Rondo
import RondoTesting
import Testing

/// Descriptor sources on the real kernel: what is told, when and in which order.
@Suite struct DescriptorTests {
  // MARK: - Level

  @Test func `a ready descriptor is told in every turn until it is read`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("d", pipe.reader) { source, _ in if stage.text == "d d d" { pipe.drain() } }
      pipe.write(1)
      for _ in 0..<5 { stage.loop.run(for: .zero) }
      return stage.text
    }
    #expect(text == "d d d")
  }

  @Test func `the loop reads nothing`() {
    let count = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("d", pipe.reader)
      pipe.write(20)
      stage.loop.run(for: .zero)
      return pipe.drain()
    }
    #expect(count == 20)
  }

  @Test func `an eventfd is told until it is read`() {
    let text = onLoopThread { stage in
      let descriptor = makeEventDescriptor()
      defer { close(descriptor) }
      stage.descriptor("d", descriptor) { _, _ in if stage.text == "d d" { drainDescriptor(descriptor) } }
      signalEventDescriptor(descriptor)
      for _ in 0..<4 { stage.loop.run(for: .zero) }
      signalEventDescriptor(descriptor)
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "d d d")
  }

  @Test func `a descriptor that becomes ready ends the sleep`() {
    let (result, statistics) = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("d", pipe.reader) { source, _ in source.invalidate() }
      let writer = TestThread { [loop = stage.loop] in
        while !loop.isWaiting { yieldThread() }
        pipe.write(1)
      }
      let result = stage.loop.run()
      writer.join()
      return (result, stage.loop.statistics)
    }
    #expect(result == .finished)
    #expect(statistics.wakeupsByDescriptor == 1)
    #expect(statistics.turns == 1)
  }

  @Test func `a socket is told as readable and writable at once`() {
    let text = onLoopThread { stage in
      let sockets = stage.sockets()
      sockets.send()
      stage.descriptor("", sockets.near, for: [.read, .write]) { _, readiness in stage.note("\(readiness)") }
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == " read|write")
  }

  @Test func `a handled descriptor ends a run that returns after a source`() {
    let result = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("d", pipe.reader)
      pipe.write(1)
      return stage.loop.run(for: .seconds(60), returnAfterSourceHandled: true)
    }
    #expect(result == .handledSource)
  }

  // MARK: - Edge

  @Test func `an edge is told once, until there is another`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("d", pipe.reader, trigger: .edge)
      pipe.write(1)
      for _ in 0..<3 { stage.loop.run(for: .zero) }
      stage.note("|")
      pipe.write(1)
      for _ in 0..<3 { stage.loop.run(for: .zero) }
      return stage.text
    }
    #expect(text == "d | d")
  }

  @Test func `an edge that a run leaves behind is told by the next`() {
    let text = onLoopThread { stage in
      let pipes = (0..<3).map { _ in stage.pipe() }
      for (index, pipe) in pipes.enumerated() {
        stage.descriptor("\(index)", pipe.reader, trigger: .edge, order: index)
        pipe.write(1)
      }
      for _ in 0..<3 {
        stage.loop.run(for: .seconds(60), returnAfterSourceHandled: true)
        stage.note("|")
      }
      stage.note("\(stage.loop.run(for: .zero, returnAfterSourceHandled: true))")
      return stage.text
    }
    #expect(text == "0 | 1 | 2 | timedOut")
  }

  @Test func `an edge left behind and told together with a new one is told once`() {
    let text = onLoopThread { stage in
      let pipes = (0..<2).map { _ in stage.pipe() }
      for (index, pipe) in pipes.enumerated() {
        stage.descriptor("\(index)", pipe.reader, trigger: .edge, order: index)
        pipe.write(1)
      }
      stage.loop.run(for: .seconds(60), returnAfterSourceHandled: true)
      pipes[1].write(1)
      stage.loop.run(for: .zero)
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "0 1")
  }

  @Test func `an edge collected before a nested run of the same mode is told, once`() {
    let text = onLoopThread { stage in
      let pipes = (0..<2).map { _ in stage.pipe() }
      for (index, pipe) in pipes.enumerated() {
        stage.descriptor("\(index)", pipe.reader, trigger: .edge, order: index) { _, _ in
          if index == 0 { stage.loop.run(for: .zero) }
        }
        pipe.write(1)
      }
      for _ in 0..<3 { stage.loop.run(for: .zero) }
      return stage.text
    }
    #expect(text == "0 1")
  }

  @Test func `an edge collected before a nested run of another mode is told, once`() {
    let text = onLoopThread { stage in
      stage.keepAlive(in: "m")
      let pipes = (0..<2).map { _ in stage.pipe() }
      for (index, pipe) in pipes.enumerated() {
        stage.descriptor("\(index)", pipe.reader, trigger: .edge, order: index) { _, _ in
          if index == 0 { stage.loop.run(in: "m", for: .zero) }
        }
        pipe.write(1)
      }
      for _ in 0..<3 { stage.loop.run(for: .zero) }
      return stage.text
    }
    #expect(text == "0 1")
  }

  @Test func `an edge that nobody asked for when it came is told when it is asked for`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      let source = stage.descriptor("d", pipe.reader, trigger: .edge)
      source.disable(.read)
      pipe.write(1)
      stage.loop.run(for: .zero)
      stage.note("|")
      source.enable(.read)
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "| d")
  }

  // MARK: - Several

  @Test func `several sources on one descriptor are all told`() {
    let text = onLoopThread { stage in
      let sockets = stage.sockets()
      sockets.send()
      stage.descriptor("r1", sockets.near, order: 1)
      stage.descriptor("r2", sockets.near, order: 2)
      stage.descriptor("w", sockets.near, for: .write, order: 3)
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "r1 r2 w")
  }

  @Test func `a source for the peer's close leaves a reading source on the same descriptor level-triggered`() {
    for order in 0...1 {
      let text = onLoopThread { stage in
        let sockets = stage.sockets()
        if order == 0 { stage.descriptor("c", sockets.near, for: .closed) }
        stage.descriptor("r", sockets.near)
        if order == 1 { stage.descriptor("c", sockets.near, for: .closed) }
        sockets.send()
        for _ in 0..<3 { stage.loop.run(for: .zero) }
        return stage.text
      }
      #expect(text == "r r r", "order \(order)")
    }
  }

  @Test(arguments: 0..<3)
  func `a close is told once, although others share the descriptor`(_ company: Int) {
    let (text, turns) = onLoopThread { stage in
      let sockets = stage.sockets()
      stage.descriptor("c", sockets.near, for: .closed)
      switch company {
      case 0: stage.descriptor("c2", sockets.near, for: .closed, order: 1)
      case 1: stage.descriptor("r", sockets.near, order: 1).disable(.read)
      default: stage.descriptor("r", sockets.near, order: 1) { source, _ in source.disable(.read) }
      }
      stage.loop.run(for: .zero)
      sockets.closeFar()
      for _ in 0..<4 { stage.loop.run(for: .zero) }
      let before = stage.loop.statistics.turns
      stage.loop.run(for: .milliseconds(20))
      return (stage.text, stage.loop.statistics.turns - before)
    }
    #expect(text == ["c c2", "c", "c r"][company])
    #expect(turns <= 2)
  }

  @Test func `a close that came before a source joined is told to it as well`() {
    let text = onLoopThread { stage in
      let sockets = stage.sockets()
      stage.descriptor("c", sockets.near, for: .closed)
      sockets.closeFar()
      stage.loop.run(for: .zero)
      stage.descriptor("c2", sockets.near, for: .closed, order: 1)
      for _ in 0..<2 { stage.loop.run(for: .zero) }
      return stage.text
    }
    #expect(text == "c c2")
  }

  @Test func `an edge that came before a source joined is told to it as well`() {
    let text = onLoopThread { stage in
      let sockets = stage.sockets()
      sockets.send()
      stage.descriptor("e", sockets.near, trigger: .edge)
      stage.loop.run(for: .zero)
      stage.note("|")
      stage.descriptor("e2", sockets.near, trigger: .edge, order: 1)
      for _ in 0..<2 { stage.loop.run(for: .zero) }
      return stage.trace.tokens.contains("e2")
    }
    #expect(text)
  }

  @Test func `a source that stops reading leaves a writing source on the same descriptor level-triggered`() {
    let text = onLoopThread { stage in
      let sockets = stage.sockets()
      stage.descriptor("w", sockets.near, for: .write)
      let reader = stage.descriptor("r", sockets.near, for: [.read, .closed])
      stage.loop.run(for: .zero)
      reader.disable(.read)
      for _ in 0..<2 { stage.loop.run(for: .zero) }
      return stage.text
    }
    #expect(text == "w w w")
  }

  @Test func `one of several sources on a descriptor can go, and the others stay`() {
    let text = onLoopThread { stage in
      let sockets = stage.sockets()
      sockets.send()
      let first = stage.descriptor("r1", sockets.near, order: 1)
      stage.descriptor("r2", sockets.near, order: 2)
      stage.descriptor("w", sockets.near, for: .write, order: 3)
      stage.loop.run(for: .zero)
      stage.note("|")
      first.invalidate()
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "r1 r2 w | r2 w")
  }

  @Test func `a ready batch is told by order`() {
    let text = onLoopThread { stage in
      let pipes = (0..<20).map { _ in stage.pipe() }
      for (index, pipe) in pipes.enumerated() { stage.descriptor("\(index)", pipe.reader, order: index * 7 % 20) }
      for pipe in pipes { pipe.write(1) }
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == (0..<20).map { "\($0 * 3 % 20)" }.joined(separator: " "))
  }

  @Test(arguments: [31, 32, 33, 64, 100, 1000], [Loop.DescriptorSource.Trigger.level, .edge])
  func `all that is ready is told in a fresh loop's first turn, once each`(
    _ number: Int, _ trigger: Loop.DescriptorSource.Trigger
  ) {
    let (trace, turns) = onLoopThread { stage in
      let descriptors = (0..<number).map { _ in makeEventDescriptor() }
      defer { for descriptor in descriptors { close(descriptor) } }
      for (index, descriptor) in descriptors.enumerated() {
        signalEventDescriptor(descriptor)
        stage.descriptor("\(index)", descriptor, trigger: trigger)
      }
      stage.loop.run(for: .zero)
      return (stage.trace.tokens.compactMap { Int($0) }, stage.loop.statistics.turns)
    }
    #expect(trace.sorted() == Array(0..<number))
    #expect(turns == 1)
  }

  @Test func `level and edge, and both directions, are told once in a turn that asks the kernel several times`() {
    let trace = onLoopThread { stage in
      let sockets = (0..<50).map { _ in stage.sockets() }
      for (index, pair) in sockets.enumerated() {
        pair.send()
        stage.descriptor("", pair.near, for: [.read, .write], trigger: index % 2 == 0 ? .level : .edge) {
          _, readiness in stage.note("\(index):\(readiness)")
        }
      }
      stage.loop.run(for: .zero)
      return stage.trace.tokens.filter { !$0.isEmpty }
    }
    #expect(trace.sorted() == (0..<50).map { "\($0):read|write" }.sorted())
  }

  @Test func `seventy thousand sources can share a descriptor`() {
    let (callouts, left) = onLoopThread { stage in
      let sockets = stage.sockets()
      sockets.send()
      let sources = (0..<70_000).map { _ in
        try! Loop.DescriptorSource(sockets.near, for: .read) { _, _ in }
      }
      for source in sources { stage.loop.add(source) }
      stage.loop.run(for: .zero)
      for source in sources { source.disable(.read) }
      stage.loop.run(for: .zero)
      for source in sources { source.enable(.read) }
      stage.loop.run(for: .zero)
      let callouts = stage.loop.statistics.descriptorCallouts
      for source in sources { source.invalidate() }
      return (callouts, stage.loop.run(for: .zero))
    }
    #expect(callouts == 140_000)
    #expect(left == .finished)
  }

  @Test func `a ready source that a sibling invalidates is not told`() {
    let text = onLoopThread { stage in
      let pipes = (0..<2).map { _ in stage.pipe() }
      let second = stage.descriptor("b", pipes[1].reader, order: 1)
      stage.descriptor("a", pipes[0].reader) { _, _ in second.invalidate() }
      for pipe in pipes { pipe.write(1) }
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "a")
  }

  @Test func `readiness collected for an invalidated source is not told to the one that took its place`() {
    let text = onLoopThread { stage in
      let pipes = (0..<3).map { _ in stage.pipe() }
      let second = stage.descriptor("b", pipes[1].reader, order: 1)
      stage.descriptor("a", pipes[0].reader) { _, _ in
        second.invalidate()
        stage.descriptor("c", pipes[2].reader, order: 1)
      }
      for pipe in pipes[..<2] { pipe.write(1) }
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "a")
  }

  @Test func `a source in two modes is told in the one that runs`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      let source = stage.descriptor("d", pipe.reader)
      stage.loop.add(source, to: "m")
      pipe.write(1)
      stage.loop.run(for: .zero)
      stage.loop.run(in: "m", for: .zero)
      stage.note("|")
      stage.loop.remove(source)
      stage.note("\(stage.loop.run(for: .zero))")
      stage.loop.run(in: "m", for: .zero)
      return stage.text
    }
    #expect(text == "d d | finished d")
  }

  @Test func `a descriptor of another mode does not end the sleep`() {
    let turns = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.keepAlive()
      stage.descriptor("d", pipe.reader, in: "m")
      pipe.write(1)
      stage.loop.run(for: .milliseconds(20))
      return stage.loop.statistics.turns
    }
    #expect(turns == 1)
  }

  // MARK: - Enable and disable

  @Test func `a disabled source is not told, and keeps its mode from being empty`() {
    let (text, result) = onLoopThread { stage in
      let pipe = stage.pipe()
      pipe.write(1)
      let source = stage.descriptor("d", pipe.reader)
      source.disable(.read)
      return (stage.text, stage.loop.run(for: .milliseconds(5)))
    }
    #expect(text == "")
    #expect(result == .timedOut)
  }

  @Test func `a source that is disabled in its callout is told again when it is enabled`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      pipe.write(1)
      let source = stage.descriptor("d", pipe.reader) { source, _ in source.disable(.read) }
      for _ in 0..<3 { stage.loop.run(for: .zero) }
      stage.note("|")
      source.enable(.read)
      for _ in 0..<3 { stage.loop.run(for: .zero) }
      return stage.text
    }
    #expect(text == "d | d")
  }

  @Test func `what a sibling disables in the same batch is not told`() {
    let text = onLoopThread { stage in
      let pipes = (0..<2).map { _ in stage.pipe() }
      let second = stage.descriptor("b", pipes[1].reader, order: 1)
      stage.descriptor("a", pipes[0].reader) { _, _ in second.disable(.read) }
      for pipe in pipes { pipe.write(1) }
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "a")
  }

  @Test func `interest can move from writing to reading`() {
    let text = onLoopThread { stage in
      let sockets = stage.sockets()
      let source = stage.descriptor("", sockets.near, for: .write) { source, readiness in
        stage.note("\(readiness)")
        source.disable(.write)
        source.enable(.read)
      }
      for _ in 0..<3 { stage.loop.run(for: .zero) }
      sockets.send()
      stage.loop.run(for: .zero)
      #expect(source.enabled == .read)
      return stage.text
    }
    #expect(text == " write  read")
  }

  @Test func `enabling from another thread wakes the loop`() {
    let result = onLoopThread { stage in
      let pipe = stage.pipe()
      pipe.write(1)
      let source = stage.descriptor("d", pipe.reader) { source, _ in source.invalidate() }
      source.disable(.read)
      let other = TestThread { [loop = stage.loop] in
        while !loop.isWaiting { yieldThread() }
        source.enable(.read)
      }
      defer { other.join() }
      return stage.loop.run()
    }
    #expect(result == .finished)
  }
}
