// Lets a test block without holding up anybody else.

import Foundation

/// Does what blocks on a thread of its own, and waits for it without holding one of the tests'.
///
/// Not in NIO's pool: it has a thread per processor, and two tests that wait for their servers there
/// would keep a third from asking its own.
package func blocking<Answer: Sendable>(
    _ work: @escaping @Sendable () throws -> Answer
) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
