/// The budget of a job: after so many operations that succeed at once, it lets others run.
extension Loop {
  /// Takes one operation from the budget of the job that runs. Any thread.
  ///
  /// - Returns: False if the budget is spent: the task yields before the operation. Nil outside the loop's jobs.
  package func takeOperation() -> Bool? {
    guard isCurrent, core.isServingJob else { return nil }
    core.jobService.operationsLeft -= 1
    return core.jobService.operationsLeft >= 0
  }

  /// Takes from the budget of the job that runs what an operation cost that moved so many bytes. Any thread.
  @inline(__always)
  package func payForBytes(_ count: Int) {
    // To copy so many takes longer than the call itself.
    if count >= 16_384 { payForOperations(count / 16_384) }
  }

  private func payForOperations(_ count: Int) {
    if isCurrent, core.isServingJob { core.jobService.operationsLeft -= count }
  }
}
