// One piece of advice: made by `AdviceRules`, kept and passed on by `TrafficAdvisor`.

package import SDLProtocol

/// What is probably wrong, in one line, and what to do about it.
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
    /// Of its `AdviceKey`.
    var cause: String
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
}

/// What makes it the same advice again.
struct AdviceKey: Hashable, Sendable {
    var code: AdviceCode
    var app: AppID?
    /// A function, a file, a parameter: tells it from other advice of the code.
    var cause: String
}
