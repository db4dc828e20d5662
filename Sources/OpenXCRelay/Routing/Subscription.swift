package import NIOCore
package import OpenXCProtocol

/// The messages of a vehicle that a client wants. It gets answers to its own commands in any case.
package struct Subscription: Hashable, Sendable {
    /// Signals; empty for all, or for none where buses or identifiers are selected.
    package var names: [String] = []
    /// CAN and diagnostic messages of these buses; empty for all, or for none of CAN where only signals
    /// are selected.
    package var buses: [Int] = []
    /// CAN and diagnostic messages with these identifiers; the same rule for an empty list.
    package var ids: [IdentifierRange] = []
    /// Only messages that differ from the previous message of the same signal.
    package var onChange = false
    /// Maximum messages of one signal per second; 0 for no limit. The last one is delayed, not dropped.
    package var maximumRate = 0

    package static let everything = Subscription()

    package init() {}
}

/// Applies a subscription and remembers the messages that it has let through.
package struct SubscriptionFilter: Sendable {
    /// Signals remembered. Beyond that number, the filter forgets all of them: a vehicle has some dozen
    /// signals and some hundred identifiers.
    static let maximumSignals = 4096

    let subscription: Subscription
    private let names: Set<String>
    private let wantsMeasurements: Bool
    private let wantsCAN: Bool
    private let interval: TimeAmount
    private var seen: [Signal: Latest] = [:]
    /// The client's own requests, the oldest first.
    private var asked: [DiagnosticRequest] = []
    static let maximumAsked = 64
    /// The identifier that addresses every module (ISO 15765-4).
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
        /// The last message that came too soon after it; those in between are dropped.
        var delayed: VehicleMessage?
    }

    /// Signals with a delayed message, in the order in which they are due.
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

    /// Notes that the client makes this request, and gets the answers whatever it has subscribed to.
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

    /// Lets the message through, keeps it for later, or drops it. Diagnostic messages are not thinned out:
    /// each is an answer.
    ///
    /// - Returns: Whether the client gets the message now.
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

    /// When `takeDue` next has a message.
    package var nextDeadline: NIODeadline? {
        late.first.flatMap { seen[$0] }.map { $0.at + interval }
    }

    /// The delayed messages that are due: the client gets the last state of each signal.
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

    /// Lets a message through if it is new and does not come too soon.
    private mutating func passThinned(
        _ message: VehicleMessage, of signal: Signal, at now: NIODeadline
    ) -> Bool {
        if let latest = seen[signal] {
            if subscription.onChange, latest.content == message.content {
                // The signal is back to the value that the client knows.
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
            // Signals that passed earlier are due earlier; few lie in between.
            let place =
                late.lastIndex { (seen[$0]?.at ?? latest.at) <= latest.at }.map { $0 + 1 } ?? 0
            late.insert(signal, at: place)
        } else if latest.delayed != nil, message == nil {
            late.removeAll { $0 == signal }
        }
        seen[signal]?.delayed = message
    }
}
