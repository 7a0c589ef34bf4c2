import RondoTestSupport
import Testing

/// Real threads, exact counts. One test at a time: each wants every core there is.
@Suite(.serialized, .offThePool) enum StressTests {}
