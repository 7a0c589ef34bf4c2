import ArgumentParser
import Foundation

extension RondoBench {
  /// One round in this process, for a parent that measures in many.
  struct Once: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Measure one subject once and print its figures as JSON.", shouldDisplay: false)

    @Flag(help: "Do the work only, to be counted from outside.")
    var counted = false

    @Argument var workload: String
    @Argument var subject: String
    @Argument var size: Int

    func run() throws {
      guard let workload = Workloads.all.first(where: { $0.name == workload }),
        let subject = Subjects.all.first(where: { $0.name == subject })
      else { throw ValidationError("There is no such workload or subject.") }
      var answer = Child.Answer()
      do throws(Refusal) {
        if counted {
          answer.events = try workload.countedRound(of: subject, size: size)
        } else {
          answer.round = try workload.round(of: subject, size: size)
        }
      } catch {
        answer.refusal = error
      }
      FileHandle.standardOutput.write(try JSONEncoder().encode(answer))
    }
  }
}
