import Glibc

/// What to do where no descriptor is left.
package var descriptorAdvice: String {
  "The limit of open files (RLIMIT_NOFILE, ulimit -n) is \(descriptorLimit)."
}

/// How many descriptors this process may open: RLIMIT_NOFILE.
package var descriptorLimit: Int {
  var limit = rlimit()
  guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
  return Int(clamping: limit.rlim_cur)
}
