import Testing

/// Programs whose main is async, with each form of main, unoptimised and optimised.
@Suite(.serialized) struct MainProgramTests {
  @Test(arguments: Programs.configurationsOfTheProbe)
  func `an async main resumes on the main thread, 200 times of 200`(_ configuration: String) throws {
    let end = try Programs.run("rondo-main-probe", "hops", in: configuration)
    #expect(end.lines == ["elsewhere 200", "on-main 200", "after-sleep true", "from-elsewhere true"])
    #expect(end.status == 0 && !end.wasSignalled && end.errors == "")
  }

  @Test(arguments: Programs.configurations)
  func `top-level code resumes on the main thread, and ends with what it exits with`(_ configuration: String) throws {
    let end = try Programs.run("rondo-main-lines", in: configuration)
    // A library that it is linked with imports RondoMain, too.
    #expect(end.lines == ["elsewhere 200", "on-main 200", "a library's true"])
    #expect(end.status == 0 && !end.wasSignalled)
    let exit = try Programs.run("rondo-main-lines", "exits", in: configuration)
    #expect(exit.lines == end.lines)
    #expect(exit.status == 7 && !exit.wasSignalled)
  }

  @Test(arguments: Programs.configurations)
  func `a LoopProgram resumes on the main thread, and fails with what it throws`(_ configuration: String) throws {
    let end = try Programs.run("rondo-main-program", in: configuration)
    #expect(end.lines == ["elsewhere 200", "on-main 200"])
    #expect(end.status == 0 && !end.wasSignalled)
    let failure = try Programs.run("rondo-main-program", "throws", in: configuration)
    #expect(failure.wasSignalled && failure.errors.contains("Failure()"))
    // A stop cancels it, and cancellation is what it throws.
    let stop = try Programs.run("rondo-main-program", "stop", in: configuration)
    #expect(stop.wasSignalled && stop.errors.contains("CancellationError()"))
  }

  @Test(arguments: Programs.configurationsOfTheProbe)
  func `timers, descriptors and the main queue are served while main is suspended`(_ configuration: String) throws {
    let end = try Programs.run("rondo-main-probe", "serves", in: configuration)
    #expect(end.lines == ["resumed-elsewhere 0", "bytes true", "blocks true"])
  }

  @Test(arguments: Programs.configurations)
  func `with all tasks adopted, they are served in a program of one thread`(_ configuration: String) throws {
    let end = try Programs.run("rondo-main-probe", "adopted-serves", in: configuration)
    #expect(end.lines == ["resumed-elsewhere 0", "bytes true", "blocks true", "threads 1"])
  }

  @Test(arguments: Programs.configurations)
  func `the main actor and an actor of the main loop are one executor`(_ configuration: String) throws {
    let end = try Programs.run("rondo-main-probe", "order", in: configuration)
    #expect(end.lines == ["visits 1000", "jobs 0"])
  }

  @Test(arguments: Programs.configurations)
  func `a function that wakes up on another thread is told so by isCurrent`(_ configuration: String) throws {
    let end = try Programs.run("rondo-main-probe", "current", in: configuration)
    #expect(end.lines == ["moved true", "wrong 0"])
  }

  @Test(arguments: Programs.configurationsOfTheProbe)
  func `a main that throws ends as Swift's does, with its output whole`(_ configuration: String) throws {
    for subject in ["throws", "throws-at-once"] {
      let end = try Programs.run("rondo-main-probe", subject, in: configuration)
      #expect(end.wasSignalled && end.errors.contains("Failure()"))
      #expect(end.lines == (subject == "throws" ? ["before"] : []))
    }
  }

  @Test(arguments: ["returns", "returns-at-once", "stop"], Programs.configurations)
  func `a main that returns, and a stop of the main loop, end with 0 and exit's handlers`(
    _ subject: String, _ configuration: String
  ) throws {
    let end = try Programs.run("rondo-main-probe", subject, in: configuration)
    #expect(end.lines == ["main returns", "exit handlers called"])
    #expect(end.status == 0 && !end.wasSignalled && end.errors == "")
  }

  @Test(arguments: Programs.configurationsOfTheProbe)
  func `adopted tasks, children and sleeps stay on the main thread, which is the only one`(
    _ configuration: String
  ) throws {
    let end = try Programs.run("rondo-main-probe", "adopts", in: configuration)
    #expect(
      end.lines == [
        "elsewhere-on-main 200", "on-main 200", "after-sleep true", "detached true", "children 100", "threads 1",
      ])
  }

  @Test(arguments: Programs.configurations)
  func `ten thousand sleeps with tolerance wake the loop at most once`(_ configuration: String) throws {
    let end = try Programs.run("rondo-main-probe", "adopted-sleeps", in: configuration)
    #expect(end.lines.last == "threads 1")
    #expect(["sleeps 0", "sleeps 1"].contains(end.lines.first ?? ""))
  }
}
