import CStart

try await Task.sleep(for: .zero)
start_reached()
