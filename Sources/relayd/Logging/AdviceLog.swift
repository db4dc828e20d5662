// Advice in relayd's own log: a warning with the code under a name of its own, so that
// `journalctl ADVICE_CODE=request_in_none` finds it.

import Logging
import RelayCore
import SDLProtocol

extension Logger {
    /// Writes a piece of advice as one warning.
    func log(_ advice: Advice) {
        var metadata: Logger.Metadata = [
            LogRecord.adviceCode: "\(advice.code.rawValue)", "entry": "\(advice.entry)",
        ]
        if let app = advice.app { metadata[LogKey.app.rawValue] = "\(app)" }
        if let session = advice.sessionID { metadata[LogKey.session.rawValue] = "\(session)" }
        warning(
            """
            \(advice.sentence) → \(advice.remedy); more: relayctl explain \(advice.code.rawValue)
            """, metadata: metadata)
    }
}
