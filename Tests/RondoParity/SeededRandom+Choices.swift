import RondoTesting

extension SeededRandom {
  /// True `percent` times of a hundred.
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func pick<T>(_ values: [T]) -> T { values[Int.random(in: values.indices, using: &self)] }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
}
