import Logging
import NIOCore
import RelayCore
import Synchronization

/// Logs who was refused, and keeps clients that are refused again and again from filling the log.
final class RefusalLog: Sendable {
    private let limiter = Mutex(LineLimiter())

    /// - Parameter refusal: What was refused to whom, and why: "REQUEST refused: REASON".
    func warn(_ refusal: @autoclosure () -> String, _ logger: Logger) {
        guard let withheld = limiter.withLock({ $0.allow(at: .now()) }) else { return }
        let others = withheld > 0 ? " (\(withheld) more refusals were not logged)" : ""
        logger.warning("control: \(refusal())\(others)")
    }
}
