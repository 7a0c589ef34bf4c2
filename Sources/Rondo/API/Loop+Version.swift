extension Loop {
  /// The version of Rondo, by semantic versioning: `0.9.0`.
  ///
  /// The article <doc:LimitsErrorsAndPromises> lists the changes and promises of each version. A type named `Rondo`
  /// cannot hold the version: it would hide the module of that name, and `Rondo.Loop` would not compile.
  public static let version = "0.9.0"
}
