extension Loop {
  /// Which version of Rondo this is, by semantic versioning: `0.9.0`.
  ///
  /// <doc:LimitsErrorsAndPromises> explains the numbers, and a test compares its changes with this one. Here and
  /// not in a type named `Rondo`: one named as its module hides it, so that nobody could write `Rondo.Loop` any more.
  public static let version = "0.9.0"
}
