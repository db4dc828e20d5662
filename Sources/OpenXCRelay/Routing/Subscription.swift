package import NIOCore
package import OpenXCProtocol

/// Which of a vehicle's messages a client wants. Answers to its own commands it gets in any case.
package struct Subscription: Hashable, Sendable {
    /// Signals; empty for all, or for none where buses or identifiers are selected.
    package var names: [String] = []
    /// CAN and diagnostic messages of these buses; empty for all, or for none of CAN where only signals
    /// are selected.
    package var buses: [Int] = []
    /// The same with these identifiers.
    package var ids: [IdentifierRange] = []
    /// Only what differs from the message of the same signal before.
    package var onChange = false
    /// Messages of one signal in a second at most; 0 for all.
    package var maximumRate = 0

    package static let everything = Subscription()

    package init() {}
}

/// A subscription at work: remembers what it has let through.
package struct SubscriptionFilter: Sendable {
    /// Signals remembered. Beyond, the oldest memory is given up as a whole: a vehicle has some dozen
    /// signals and some hundred identifiers.
    static let maximumSignals = 4096

    let subscription: Subscription
    private let names: Set<String>
    private let wantsMeasurements: Bool
    private let wantsCAN: Bool
    private let interval: TimeAmount
    private var seen: [Signal: Latest] = [:]
    /// What the client has asked for itself, the oldest first.
    private var asked: [DiagnosticRequest] = []
    static let maximumAsked = 64
    /// Of whoever is there (ISO 15765-4).
    private static let functionalID: UInt32 = 0x7DF

    /// What counts as the same signal.
    private enum Signal: Hashable, Sendable {
        case name(String)
        /// Doors have one name and several states.
        case event(String, VehicleValue)
        case can(bus: Int32, id: UInt32)
    }

    private struct Latest: Sendable {
        var content: VehicleMessage.Content
        var at: NIODeadline
    }

    package init(_ subscription: Subscription) {
        self.subscription = subscription
        names = Set(subscription.names)
        let selectsCAN = !subscription.buses.isEmpty || !subscription.ids.isEmpty
        wantsMeasurements = !names.isEmpty || !selectsCAN
        wantsCAN = selectsCAN || names.isEmpty
        interval =
            subscription.maximumRate > 0
            ? .nanoseconds(1_000_000_000 / Int64(subscription.maximumRate)) : .zero
    }

    var rememberedSignals: Int { seen.count }

    /// Whether everything passes.
    package var isOpen: Bool { subscription == .everything }

    /// The client asks for it, and gets what is answered whatever it has subscribed to.
    package mutating func asks(for request: DiagnosticRequest) {
        guard !isOpen, !asked.contains(request) else { return }
        if asked.count == Self.maximumAsked { asked.removeFirst() }
        asked.append(request)
    }

    private func hasAsked(for response: DiagnosticResponse) -> Bool {
        asked.contains {
            $0.mode == response.mode && $0.pid == response.pid
                && ($0.id == response.id || $0.id == Self.functionalID)
        }
    }

    /// Whether the client wants this message. Diagnostic messages are thinned by nothing: each is an
    /// answer.
    package mutating func passes(_ message: VehicleMessage, at now: NIODeadline) -> Bool {
        if isOpen { return true }
        let signal: Signal
        switch message.content {
        case .measurement(let measurement):
            // A request with a name is answered by a measurement.
            if asked.contains(where: { $0.name == measurement.name }) { return true }
            guard wantsMeasurements, names.isEmpty || names.contains(measurement.name) else {
                return false
            }
            signal =
                measurement.event == nil
                ? .name(measurement.name) : .event(measurement.name, measurement.value)
        case .can(let can):
            guard wantsCAN, wants(can.bus, can.id) else { return false }
            signal = .can(bus: can.bus, id: can.id)
        case .diagnostic(let response):
            return wants(response.bus, response.id) || hasAsked(for: response)
        default: return true
        }
        guard subscription.onChange || interval > .zero else { return true }
        return isDue(signal, message.content, now)
    }

    private func wants(_ bus: Int32, _ id: UInt32) -> Bool {
        (subscription.buses.isEmpty || subscription.buses.contains(Int(bus)))
            && (subscription.ids.isEmpty || subscription.ids.contains { $0.contains(id) })
    }

    private mutating func isDue(
        _ signal: Signal, _ content: VehicleMessage.Content, _ now: NIODeadline
    ) -> Bool {
        if let latest = seen[signal] {
            if subscription.onChange, latest.content == content { return false }
            if now < latest.at + interval { return false }
        } else if seen.count >= Self.maximumSignals {
            seen.removeAll(keepingCapacity: true)
        }
        seen[signal] = Latest(content: content, at: now)
        return true
    }
}
