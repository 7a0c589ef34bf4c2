import ArgumentParser

extension RondoBench {
  /// Prints what there is to run.
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the workloads and the subjects.")

    func run() {
      print("Workloads:")
      for workload in Workloads.all {
        line(workload.name, workload.summary, workload.obstacle.map { "cannot: \($0)" })
      }
      print("\nSubjects:")
      for subject in Subjects.all {
        line(subject.name, subject.summary, subject.absence.map { "absent: \($0)" })
      }
    }

    private func line(_ name: String, _ summary: String, _ remark: String?) {
      let space = String(repeating: " ", count: max(1, 28 - name.count))
      print("  \(name)\(space)\(summary)\(remark.map { " (\($0))" } ?? "")")
    }
  }
}
