// Advice in relayd's own log: a line with the code in a field of its own, so that `journalctl
// ADVICE_CODE=request_in_none` finds it.

import Logging
import RelayCore
import SDLAdvice
import SDLTraffic
import Synchronization

/// Writes advice after the messages it is about: the advisor sees them first, so its advice waits here
/// until the traffic log has written the batch. The last of the consumers.
final class AdviceLog: TrafficConsumer {
    private let logger: Logger
    private let waiting = Mutex<[Advice]>([])

    init(_ logger: Logger) {
        self.logger = logger
    }

    func add(_ advice: Advice) {
        waiting.withLock { $0.append(advice) }
    }

    func consume(_ entries: [TrafficEntry]) {
        let advice = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for advice in advice { logger.log(advice) }
    }
}

extension Logger {
    /// Writes a piece of advice as one warning or, if nothing is broken, as information.
    func log(_ advice: Advice) {
        var metadata: Logger.Metadata = [
            LogRecord.adviceCode: "\(advice.code.rawValue)", "entry": "\(advice.entry)",
            LogRecord.adviceSentence: "\(advice.sentence)",
            LogRecord.adviceRemedy: "\(advice.remedy)",
        ]
        if advice.count > 1 { metadata["count"] = "\(advice.count)" }
        if let app = advice.app { metadata["app"] = "\(app)" }
        if let name = advice.appName { metadata[LogRecord.appName] = "\(name)" }
        if let session = advice.sessionID { metadata["session"] = "\(session)" }
        if let fault = advice.fault { metadata["fault"] = "\(fault.rawValue)" }
        let times = advice.count > 1 ? " (\(advice.count) times by now)" : ""
        log(
            level: advice.code.severity == .warning ? .warning : .info,
            """
            \(advice.sentence)\(times) → \(advice.remedy); \
            more: relayctl explain \(advice.code.rawValue)
            """, metadata: metadata)
    }
}
