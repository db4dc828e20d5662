// Lets a test block without holding up other tests.

import Foundation

/// Runs blocking work on a thread of its own, and awaits it without holding one of the tests' threads.
///
/// Not in NIO's pool: it has a thread per processor, and that many tests waiting for their servers there
/// would keep the next one from asking its own.
package func blocking<Answer: Sendable>(
    _ work: @escaping @Sendable () throws -> Answer
) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
