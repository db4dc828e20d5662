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
    /// Messages of one signal in a second at most; 0 for all. The last one is delayed and not left out.
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
        /// What came too soon after it, without what came in between.
        var delayed: VehicleMessage?
    }

    /// Signals with something delayed, in the order in which it is due.
    private var late: [Signal] = []

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

    /// Lets the message through, remembers it for later, or leaves it out. Diagnostic messages are thinned by
    /// nothing: each is an answer.
    ///
    /// - Returns: Whether the client gets it now.
    package mutating func pass(_ message: VehicleMessage, at now: NIODeadline) -> Bool {
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
        return passThinned(message, of: signal, at: now)
    }

    /// When `takeDue` has something.
    package var nextDeadline: NIODeadline? {
        late.first.flatMap { seen[$0] }.map { $0.at + interval }
    }

    /// The messages whose signals have rested since: the client gets the state that they ended in.
    package mutating func takeDue(at now: NIODeadline) -> [VehicleMessage] {
        var due: [VehicleMessage] = []
        while let deadline = nextDeadline, deadline <= now {
            let signal = late.removeFirst()
            guard let message = seen[signal]?.delayed else { continue }
            seen[signal] = Latest(content: message.content, at: now)
            due.append(message)
        }
        return due
    }

    private func wants(_ bus: Int32, _ id: UInt32) -> Bool {
        (subscription.buses.isEmpty || subscription.buses.contains(Int(bus)))
            && (subscription.ids.isEmpty || subscription.ids.contains { $0.contains(id) })
    }

    /// Lets through what is new and does not come too soon.
    private mutating func passThinned(
        _ message: VehicleMessage, of signal: Signal, at now: NIODeadline
    ) -> Bool {
        if let latest = seen[signal] {
            if subscription.onChange, latest.content == message.content {
                // It is again as the client knows it.
                delay(nil, of: signal)
                return false
            }
            if now < latest.at + interval {
                delay(message, of: signal)
                return false
            }
            delay(nil, of: signal)
        } else if seen.count >= Self.maximumSignals {
            seen.removeAll(keepingCapacity: true)
            late.removeAll(keepingCapacity: true)
        }
        seen[signal] = Latest(content: message.content, at: now)
        return true
    }

    private mutating func delay(_ message: VehicleMessage?, of signal: Signal) {
        guard let latest = seen[signal] else { return }
        if latest.delayed == nil, message != nil {
            // Those that passed earlier are due earlier; few are between.
            let place =
                late.lastIndex { (seen[$0]?.at ?? latest.at) <= latest.at }.map { $0 + 1 } ?? 0
            late.insert(signal, at: place)
        } else if latest.delayed != nil, message == nil {
            late.removeAll { $0 == signal }
        }
        seen[signal]?.delayed = message
    }
}
