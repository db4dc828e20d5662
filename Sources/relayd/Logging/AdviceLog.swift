// Advice in relayd's own log: a line with the code under a name of its own, so that
// `journalctl ADVICE_CODE=request_in_none` finds it.

import Logging
import RelayCore
import SDLAdvice
import SDLTraffic

extension Logger {
    /// Writes a piece of advice as one warning, or, when nothing is broken, as information.
    func log(_ advice: Advice) {
        var metadata: Logger.Metadata = [
            LogRecord.adviceCode: "\(advice.code.rawValue)", "entry": "\(advice.entry)",
        ]
        if let app = advice.app { metadata["app"] = "\(app)" }
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
