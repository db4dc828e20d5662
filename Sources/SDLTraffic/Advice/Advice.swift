package import RelayCore
package import SDLAdvice
import SDLProtocol

/// A probable fault in one line, and its remedy. Made by `AdviceRules`, kept and passed on by
/// `TrafficAdvisor`.
package struct Advice: Hashable, Sendable {
    package var code: AdviceCode
    /// When the fault was first seen.
    package var time: WallTime
    /// The app's connection; nil when the advice concerns the head unit or the link.
    package var app: AppID?
    /// The name that the app registered with.
    package var appName: String?
    package var sessionID: UInt8?
    /// One line, one cause; printable.
    package var text: String
    /// One line, without a full stop.
    package var remedy: String
    /// The number of the entry in which it was seen.
    package var entry: UInt64
    /// For a StartService, the side at fault; nil for everything else.
    package var fault: FaultSide?
    /// The cause in its `AdviceKey`.
    package var cause: String
    /// How often it was seen, and when it was last seen.
    package var count = 1
    package var lastTime: WallTime

    /// "Relay Test: …"; about the link, only the sentence.
    package var sentence: String {
        let subject = appName ?? app?.description
        return subject.map { "\($0): \(text)" } ?? text
    }

    func isAbout(_ key: AdviceKey) -> Bool {
        code == key.code && app == key.app && cause == key.cause
    }

    var key: AdviceKey { AdviceKey(code: code, app: app, cause: cause) }
}

/// Identifies repetitions of the same advice.
struct AdviceKey: Hashable, Sendable {
    let code: AdviceCode
    let app: AppID?
    /// A function, a service, a result: distinguishes it from other advice of the code. Never anything that
    /// differs from one message to the next, such as a file's name, or each would be new.
    let cause: String

    /// - Parameter cause: May be a peer's text; it is cut, since keys are kept.
    init(code: AdviceCode, app: AppID?, cause: String) {
        self.code = code
        self.app = app
        self.cause = PrintableText.string(cause, limit: FactLimits.text)
    }
}
