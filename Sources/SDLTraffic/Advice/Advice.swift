package import RelayCore
package import SDLAdvice
import SDLProtocol

/// What is probably wrong, in one line, and what to do about it. Made by `AdviceRules`, kept and
/// passed on by `TrafficAdvisor`.
package struct Advice: Hashable, Sendable {
    package var code: AdviceCode
    /// When it was seen first.
    package var time: WallTime
    /// The app's connection; nil when it is about the head unit or the link.
    package var app: AppID?
    /// As it registered.
    package var appName: String?
    package var sessionID: UInt8?
    /// One line, one cause; printable.
    package var text: String
    /// One line, without full stop.
    package var remedy: String
    /// Number of the entry it was seen in.
    package var entry: UInt64
    /// Whose doing it is, of a StartService; nil of everything else.
    package var fault: FaultSide?
    /// Of its `AdviceKey`.
    package var cause: String
    /// How often it was seen, and when last.
    package var count = 1
    package var lastTime: WallTime

    /// "Relay Test: …", or about the link just the sentence.
    package var sentence: String {
        let subject = appName ?? app?.description
        return subject.map { "\($0): \(text)" } ?? text
    }

    func isAbout(_ key: AdviceKey) -> Bool {
        code == key.code && app == key.app && cause == key.cause
    }

    var key: AdviceKey { AdviceKey(code: code, app: app, cause: cause) }
}

/// What makes it the same advice again.
struct AdviceKey: Hashable, Sendable {
    let code: AdviceCode
    let app: AppID?
    /// A function, a service, a result: tells it from other advice of the code. Never what differs
    /// from one message to the next, such as a file's name, or each would be new.
    let cause: String

    /// - Parameter cause: May be a peer's word; it is cut, since keys are kept.
    init(code: AdviceCode, app: AppID?, cause: String) {
        self.code = code
        self.app = app
        self.cause = PrintableText.string(cause, limit: FactLimits.text)
    }
}
