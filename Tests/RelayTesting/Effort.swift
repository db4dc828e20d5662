// How much of its possible work a test does.

import Foundation

/// Tests share two processors, and some wait for a peer against a clock: a test that computes for a
/// minute makes others fail. So each tries a part that shows every kind of mistake, and everything
/// with RELAY_TESTS=full in the environment.
package enum Effort {
    package static let isFull = ProcessInfo.processInfo.environment["RELAY_TESTS"] == "full"

    /// - Parameter count: Rounds of a full run.
    package static func rounds(_ count: Int, orQuickly quick: Int) -> Int {
        isFull ? count : quick
    }

    /// Whether a pair of a product is tried: all in a full run, else one in `spread`, so that each
    /// element of either side comes up.
    package static func tries(_ first: Int, _ second: Int, oneIn spread: Int) -> Bool {
        isFull || (first + second).isMultiple(of: spread)
    }
}
