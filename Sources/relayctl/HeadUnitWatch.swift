import ControlAPI

/// Says why relayd has no head unit while an app waits for one. `relayctl sample-app` runs it beside the
/// app. It ends when the head unit is available, relayd is gone, or its task is cancelled.
struct HeadUnitWatch: Sendable {
    /// Asks relayd; nil when it cannot be asked.
    let ask: @Sendable () async -> AccessoryStatus?
    var pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .milliseconds(500)) }
    let say: @Sendable (String) -> Void

    init(
        ask: @escaping @Sendable () async -> AccessoryStatus?,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.ask = ask
        self.say = say
    }

    /// Says each reason once, in the order in which they come.
    func run() async {
        var told: String?
        // The first attempt to open it takes a moment, even when all is well.
        var isFirst = true
        while !Task.isCancelled {
            guard let accessory = await ask(), accessory.state != .open else { return }
            let reason = SafeText.line(accessory.reason?.message ?? accessory.state.words)
            if reason != told, !(isFirst && accessory.state == .opening) {
                say("waiting: relayd has no head unit yet (\(reason))")
                told = reason
            }
            isFirst = false
            do { try await pause() } catch { return }
        }
    }
}

extension ServerStatus {
    /// The best address for a program on this machine: one that no firewall affects.
    var nearestEndpoint: String? {
        endpoints.first { $0.hasPrefix("127.") || $0.hasPrefix("[::1]") } ?? endpoints.first
    }
}
