/// Who sends a frame to the head unit: goes with every frame from the router to the link.
package enum Origin<App: Hashable>: Hashable {
    case app(App)
    /// relayd, in place of an app: the end of a half message, a goodbye, a heartbeat's answer.
    case relay

    /// The app; nil for relayd's own frames.
    package var app: App? {
        if case .app(let app) = self { app } else { nil }
    }

    package var isRelay: Bool {
        if case .relay = self { true } else { false }
    }
}
