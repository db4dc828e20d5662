/// What is probably wrong, in one line, and what to do about it.
package struct AdviceReport: Codable, Sendable, Equatable {
    /// A stable word: `relayctl explain CODE` has its page.
    package var code: String
    /// "warning", or "info" when nothing is broken.
    package var severity: String
    /// When it was first and last seen, and how often.
    package var at: Timestamp
    package var lastAt: Timestamp
    package var count: Int
    /// Number of the app's connection; left out when it is about the head unit or the link.
    package var app: Int?
    package var appName: String?
    package var session: Int?
    /// One line, one cause.
    package var text: String
    /// One line.
    package var remedy: String
    /// Number of the traffic-log entry in which it was seen.
    package var entry: Int
    /// For a StartService that failed: the side at fault, "app", "relayd" or "head_unit".
    package var fault: String?

    package init(
        code: String, severity: String = Self.warning, at: Timestamp, lastAt: Timestamp,
        count: Int = 1, app: Int? = nil, appName: String? = nil, session: Int? = nil, text: String,
        remedy: String, entry: Int, fault: String? = nil
    ) {
        self.code = code
        self.severity = severity
        self.at = at
        self.lastAt = lastAt
        self.count = count
        self.app = app
        self.appName = appName
        self.session = session
        self.text = text
        self.remedy = remedy
        self.entry = entry
        self.fault = fault
    }

    package static let warning = "warning"
    package static let info = "info"

    /// Advice not seen for this many seconds is over, and no longer shown in status and doctor.
    package static let secondsCurrent = 300

    /// Whether something is wrong now, rather than some time ago.
    package func isCurrentWarning(at now: Timestamp) -> Bool {
        severity == Self.warning && now.seconds(since: lastAt) < Self.secondsCurrent
    }

    enum CodingKeys: String, CodingKey {
        case code, severity, at
        case lastAt = "last_at"
        case count, app
        case appName = "app_name"
        case session, text, remedy, entry, fault
    }
}

/// Advice about a message, as a line of the stream of messages. It has no number of its own.
package struct AdviceNote: Codable, Sendable, Equatable {
    /// "advice".
    package var kind = Self.kind
    /// When the message arrived.
    package var time: Timestamp
    /// "warning", or "info" when nothing is broken; `level` says the same, as in the JSON log.
    package var priority: String
    package var level: String
    /// One line: the app and the problem.
    package var message: String
    /// A stable word: `relayctl explain CODE` has its page.
    package var code: String
    /// One line.
    package var remedy: String
    /// The app's connection as "#1", as messages have it; left out when it is about the head unit or
    /// the link.
    package var app: String?
    package var appName: String?
    package var session: Int?
    /// Number of times it was seen so far, by app, code and RPC. Repetitions are reported less and less
    /// often.
    package var count: Int
    /// Number of the message.
    package var entry: Int
    /// For a StartService that failed: the side at fault, "app", "relayd" or "head_unit".
    package var fault: String?

    package static let kind = "advice"

    /// - Parameter advice: The advice as it was when the message arrived.
    package init(_ advice: AdviceReport) {
        time = advice.lastAt
        (priority, level) = (advice.severity, advice.severity)
        let subject = advice.appName ?? advice.app.map { "#\($0)" }
        message = subject.map { "\($0): \(advice.text)" } ?? advice.text
        (code, remedy, count) = (advice.code, advice.remedy, advice.count)
        (app, appName) = (advice.app.map { "#\($0)" }, advice.appName)
        (session, entry, fault) = (advice.session, advice.entry, advice.fault)
    }

    enum CodingKeys: String, CodingKey {
        case kind, time, priority, level, message, code, remedy, app
        case appName = "app_name"
        case session, count, entry, fault
    }
}

/// The answer to `GET /v1/advice`.
package struct AdviceList: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// About connected apps, apps that left and the head unit; newest first.
    package var advice: [AdviceReport]

    package init(advice: [AdviceReport]) { self.advice = advice }
}
