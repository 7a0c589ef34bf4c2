/// Waits until a condition holds. It looks once a millisecond: a task that yields instead keeps a processor busy.
package func until(_ condition: () async -> Bool) async {
  while await !condition() { try? await Task.sleep(for: .milliseconds(1)) }
}
