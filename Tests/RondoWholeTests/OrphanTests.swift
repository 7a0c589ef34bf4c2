import Rondo
import RondoAsync
import RondoTestSupport
import Synchronization
import Testing

extension StressTests {
  /// Loops that end while tasks still use them.
  @Suite struct OrphanTests {
    /// Checks that nobody else is inside, in a way that the thread sanitizer sees as well.
    private actor Exclusive {
      private let loop: Loop
      private(set) var count = 0
      private let inside = Atomic<Int>(0)
      private(set) var collisions = 0

      init(_ loop: Loop) {
        self.loop = loop
      }

      nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

      func enter() {
        if inside.add(1, ordering: .relaxed).newValue != 1 { collisions += 1 }
        count += 1
        preconditionIsolated()
        inside.subtract(1, ordering: .relaxed)
      }

      /// Goes through the queue at each step.
      func enterAgain(_ times: Int) async {
        for _ in 0..<times {
          enter()
          await Task.yield()
        }
      }
    }

    @Test func `tasks that race with the end of their actor's thread all finish, one at a time`() async throws {
      for _ in 0..<100 {
        let thread = try LoopThread()
        let actor = Exclusive(thread.loop)
        await withTaskGroup { group in
          for number in 0..<20 {
            group.addTask {
              for _ in 0..<10 { await actor.enter() }
              if number == 10 { await thread.end() }
              for _ in 0..<10 { await actor.enter() }
              await actor.enterAgain(10)
            }
          }
        }
        #expect(thread.hasEnded)
        #expect(await actor.count == 600)
        #expect(await actor.collisions == 0)
      }
    }

    @Test func `an actor that never ends its work does not keep its thread from ending`() async throws {
      let thread = try LoopThread()
      let actor = Exclusive(thread.loop)
      let work = Task {
        while !Task.isCancelled { await actor.enterAgain(100) }
      }
      await until { await actor.count >= 1_000 }
      await thread.end()
      let before = await actor.count
      await until { await actor.count != before }
      work.cancel()
      await work.value
      #expect(await actor.collisions == 0)
    }

    @Test func `sleepers, calls and sequences that race with the end of the thread are all resumed`() async throws {
      for _ in 0..<50 {
        let thread = try LoopThread()
        let loop = thread.loop
        let begun = SharedNumber()
        let counts = await withTaskGroup(of: String.self) { group in
          for _ in 0..<20 {
            group.addTask {
              begun.add()
              do {
                try await loop.clock.sleep(for: .seconds(3_600))
              } catch {
                return error is Loop.EndError ? "sleeper" : "\(error)"
              }
              return "slept"
            }
            group.addTask {
              begun.add()
              do throws(Loop.CallError<Never>) {
                try await loop.call(in: "never") {}
              } catch {
                if case .loopEnded = error { return "call" }
              }
              return "called"
            }
            group.addTask {
              begun.add()
              for await _ in loop.ticks(every: .seconds(3_600)) {}
              return "ticks"
            }
          }
          await until { begun.value >= 30 }
          await thread.end()
          return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(counts == ["sleeper": 20, "call": 20, "ticks": 20])
      }
    }

    @Test func `tasks and actors let go of a loop whose thread has ended`() async throws {
      final class Witness: Sendable {}
      weak var loop: Loop?
      weak var witness: Witness?
      do {
        let thread = try LoopThread()
        let made = Witness()
        loop = thread.loop
        witness = made
        let task = Task(executorPreference: thread.loop) { [loop = thread.loop] in
          try? await loop.clock.sleep(for: .seconds(3_600))
          _ = made
          // On a loop that has ended.
          await Task.yield()
        }
        await Exclusive(thread.loop).enter()
        await thread.end()
        await task.value
      }
      // The runtime lets go of a task's executor some time after the task is over.
      await until { loop == nil && witness == nil }
    }
  }
}
