package import NIOCore
package import OpenXCProtocol

/// Decides which client gets which message of a shared vehicle interface, and which messages of its clients
/// reach it.
///
/// A vehicle interface knows no clients: it has one payload format, one list of recurring requests and
/// one state of each bus, and its answers carry no number. So the router keeps track:
/// answers go to the client that asked, in the order of asking; a request that several clients share is made
/// once, and withdrawn when the last of them has left.
///
/// Values only, generic over what a client is; `OpenXCLanguage` carries out what it says.
package struct VehicleRouter<Client: Hashable & Comparable & Sendable>: Sendable {
    /// What is to be done, in this order.
    package enum Action: Hashable, Sendable {
        case toVehicle(VehicleMessage)
        case toClient(Client, VehicleMessage)
        /// What this client hears from here on has this form.
        case setFormat(Client, PayloadFormat)
        case note(Note<Client>)
    }

    /// Who gets a message of the vehicle interface.
    package enum Destination: Hashable, Sendable {
        /// Every client whose subscription it fits.
        case all
        case client(Client)
        /// It was for the router itself, or for a client that is gone.
        case nobody
    }

    /// How long an answer may take before it is nobody's any more. A VIN may have to be asked of the
    /// vehicle first; clients wait for 0.3 to 2 s.
    package static var answerTimeout: TimeAmount { .seconds(3) }
    package static var vinTimeout: TimeAmount { .seconds(10) }
    /// Unanswered commands of one client.
    package static var maximumPending: Int { 32 }
    /// What firmware keeps at once.
    package static var maximumRecurring: Int { 20 }
    /// Firmware refuses more often, in Hz.
    package static var maximumFrequency: Double { 10 }
    /// How long an answer of relayd's own is kept back behind answers of the vehicle interface to what the
    /// client has asked before. Clients that count answers need the order; none waits less than 300 ms.
    package static var patience: TimeAmount { .milliseconds(200) }

    private let answerTimeout: TimeAmount
    private var permissions: [Client: WritePermissions] = [:]
    private var isUp = false
    private var waiting = AnswerQueue<Client>()
    private var switches = SharedSwitches<Client>()
    private var recurring = RecurringRequests<Client>()
    /// Answers of relayd's own, in the order of asking.
    private var held: [Client: [Held]] = [:]

    private struct Held: Sendable {
        var number: UInt64
        var deadline: NIODeadline
        var actions: [Action]
    }

    /// - Parameter answerTimeout: Of all commands but the VIN, which has its own.
    package init(answerTimeout: TimeAmount = Self.answerTimeout) {
        self.answerTimeout = answerTimeout
    }

    // MARK: - Clients come and go

    package mutating func connected(_ client: Client, may permissions: WritePermissions = .none) {
        self.permissions[client] = permissions
    }

    /// What a client may write from here on.
    package mutating func permit(_ client: Client, _ permissions: WritePermissions) {
        if self.permissions[client] != nil { self.permissions[client] = permissions }
    }

    /// Takes back what only this client wanted.
    package mutating func disconnected(_ client: Client, at now: NIODeadline) -> [Action] {
        permissions[client] = nil
        held[client] = nil
        waiting.forget(client)
        var actions: [Action] = []
        for key in switches.leave(client) where isUp {
            ask(key.command(isOn: false), for: nil, .plain, now, &actions)
        }
        let left = recurring.leave(client)
        guard isUp else { return actions }
        for request in left.over {
            ask(.diagnosticRequest(.cancel, request), for: nil, .plain, now, &actions)
        }
        for slower in left.slower { slowDown(slower, now, &actions) }
        return actions
    }

    /// A vehicle interface that comes back knows nothing of what it was asked before.
    package mutating func linkOpened(at now: NIODeadline) -> [Action] {
        isUp = true
        // Of whatever was asked in a form that it did not understand, nothing comes.
        waiting = AnswerQueue()
        var actions: [Action] = []
        for key in switches.owned {
            ask(key.command(isOn: true), for: nil, .switchOn(key, nil), now, &actions)
        }
        for (request, added) in recurring.again() {
            ask(.diagnosticRequest(.add, request), for: nil, .add(added), now, &actions)
        }
        return actions + release(at: now)
    }

    /// - Returns: Answers that waited behind some that do not come any more.
    package mutating func linkClosed(at now: NIODeadline) -> [Action] {
        isUp = false
        waiting = AnswerQueue()
        return release(at: now)
    }

    // MARK: - Vehicle interface → clients

    /// What a message of the vehicle interface means.
    package struct Delivery: Hashable, Sendable {
        /// To be done before anybody gets it.
        package var before: [Action] = []
        package var destination: Destination
        /// To be done afterwards.
        package var after: [Action] = []
    }

    package mutating func receiveFromVehicle(
        _ message: VehicleMessage, at now: NIODeadline
    ) -> Delivery {
        switch message.content {
        case .measurement, .can, .diagnostic: return Delivery(destination: .all)
        case .response(let response): return receiveFromVehicle(response, now)
        // Clients know no such objects, and some stop reading at one.
        case .command, .header, .unknown: return Delivery(destination: .nobody)
        }
    }

    private mutating func receiveFromVehicle(
        _ response: CommandResponse, _ now: NIODeadline
    ) -> Delivery {
        guard let asked = waiting.take(response.command) else { return Delivery(destination: .all) }
        var delivery = Delivery(destination: .nobody)
        if let client = asked.client, permissions[client] != nil {
            delivery.destination = .client(client)
            // What the client has asked before, and what is still without an answer, gets none.
            delivery.before = release(to: client, before: asked.number, at: now)
        }
        settle(asked.purpose, response, now, &delivery.after)
        // Nobody else waits for less than before.
        if let client = asked.client {
            let oldest = waiting.oldest(of: client) ?? .max
            delivery.after += release(to: client, before: oldest, at: now)
        }
        return delivery
    }

    /// What was asked for did not come about: then nobody owns it.
    private mutating func settle(
        _ purpose: Purpose<Client>, _ response: CommandResponse, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        switch purpose {
        case .plain: break
        case .switchOn(let key, let client):
            if !response.status { switches.refused(key, client) }
        case .add(let added):
            let (others, again) = recurring.answered(added, response.status)
            for client in others where permissions[client] != nil {
                answer(client, .diagnosticRequest, response.status, now, &actions)
            }
            guard let (request, added) = again else { return }
            ask(.diagnosticRequest(.add, request), for: nil, .add(added), now, &actions)
        }
    }

    // MARK: - Clients → vehicle interface

    package mutating func receive(
        _ message: VehicleMessage, from client: Client, at now: NIODeadline
    ) -> [Action] {
        var actions: [Action] = []
        switch message.content {
        case .measurement, .can:
            let isAllowed = permissions[client]?.allow(message.content) ?? false
            if !isAllowed {
                actions.append(.note(.writeRefused(client, message)))
            } else if let hazard = message.hazard {
                actions.append(.note(.unsafe(client, message, hazard)))
            } else if isUp {
                actions.append(.note(.written(client, message)))
                actions.append(.toVehicle(message))
            } else {
                actions.append(.note(.nobodyThere(client, message)))
            }
        case .command(let command): receive(command, message, client, now, &actions)
        case .diagnostic, .response, .header, .unknown:
            actions.append(.note(.notForVehicle(client, message)))
        }
        return actions
    }

    private mutating func receive(
        _ command: Command, _ message: VehicleMessage, _ client: Client, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        guard isUp || command.isForRelayd else {
            // No answer, as from a vehicle interface that is not there.
            actions.append(.note(.nobodyThere(client, message)))
            return
        }
        // Also of what relayd answers itself: it may have to wait for answers of the vehicle interface.
        guard waiting.count(of: client) + (held[client]?.count ?? 0) < Self.maximumPending else {
            actions.append(.note(.tooManyCommands(client, message)))
            return
        }
        if case .payloadFormat(let format) = command {
            // In the old form, as a vehicle interface does it.
            let response = CommandResponse(.payloadFormat, status: true)
            say(
                [
                    .toClient(client, VehicleMessage(.response(response))),
                    .setFormat(client, format),
                ], to: client, now, &actions)
            return
        }
        if let hazard = message.hazard {
            actions.append(.note(.unsafe(client, message, hazard)))
            return
        }
        switch command {
        case .passthrough(let bus, let enabled):
            turn(.passthrough(bus: bus), enabled, client, now, &actions)
        case .acceptanceFilterBypass(let bus, let bypass):
            turn(.acceptanceFilterBypass(bus: bus), bypass, client, now, &actions)
        case .diagnosticRequest(.add, let request) where request.isRecurring:
            add(request, client, now, &actions)
        case .diagnosticRequest(.cancel, let request): cancel(request, client, now, &actions)
        default: ask(command, for: client, .plain, now, &actions)
        }
    }

    /// Switching on is asked for each time: the answer says whether there is such a bus.
    private mutating func turn(
        _ key: SwitchKey, _ isOn: Bool, _ client: Client, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        if isOn {
            let isNew = switches.own(key, client)
            ask(
                key.command(isOn: true), for: client, .switchOn(key, isNew ? client : nil), now,
                &actions)
        } else if switches.disown(key, client) {
            ask(key.command(isOn: false), for: client, .plain, now, &actions)
        } else {
            // Others want it on.
            answer(client, key.command(isOn: false).name, true, now, &actions)
        }
    }

    private mutating func add(
        _ request: DiagnosticRequest, _ client: Client, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        // What firmware refuses must not take the place of what it has.
        guard request.frequency <= Self.maximumFrequency else {
            return answer(client, .diagnosticRequest, false, now, &actions)
        }
        switch recurring.own(request, client, maximum: Self.maximumRecurring) {
        case .new(let added):
            ask(.diagnosticRequest(.add, request), for: client, .add(added), now, &actions)
        case .faster(let before, let added):
            // A vehicle interface refuses a second one beside the first.
            ask(.diagnosticRequest(.cancel, before), for: nil, .plain, now, &actions)
            var request = request
            request.frequency = max(request.frequency, before.frequency)
            ask(.diagnosticRequest(.add, request), for: client, .add(added), now, &actions)
        case .waits: break
        case .shared: answer(client, .diagnosticRequest, true, now, &actions)
        case .refused: answer(client, .diagnosticRequest, false, now, &actions)
        }
    }

    private mutating func cancel(
        _ request: DiagnosticRequest, _ client: Client, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        switch recurring.disown(DiagnosticKey(request), client) {
        case .lastOne, .unknown:
            ask(.diagnosticRequest(.cancel, request), for: client, .plain, now, &actions)
        case .othersLeft(let slower):
            answer(client, .diagnosticRequest, true, now, &actions)
            if let slower { slowDown(slower, now, &actions) }
        case .foreign: answer(client, .diagnosticRequest, false, now, &actions)
        }
    }

    /// The fastest has gone. A vehicle interface knows no other way to change a request.
    private mutating func slowDown(
        _ slower: RecurringRequests<Client>.Slower, _ now: NIODeadline, _ actions: inout [Action]
    ) {
        ask(.diagnosticRequest(.cancel, slower.than), for: nil, .plain, now, &actions)
        ask(
            .diagnosticRequest(.add, slower.request), for: nil, .add(slower.added), now, &actions)
    }

    private mutating func ask(
        _ command: Command, for client: Client?, _ purpose: Purpose<Client>, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        let timeout = command == .vin ? Self.vinTimeout : answerTimeout
        waiting.add(command.name, client, purpose, until: now + timeout)
        actions.append(.toVehicle(VehicleMessage(.command(command))))
    }

    // MARK: - Answers of relayd's own

    private mutating func answer(
        _ client: Client, _ command: CommandName, _ status: Bool, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        let response = VehicleMessage(.response(CommandResponse(command, status: status)))
        say([.toClient(client, response)], to: client, now, &actions)
    }

    /// Once the client has the answers to what it has asked before: a vehicle interface answers in the order
    /// of asking.
    private mutating func say(
        _ words: [Action], to client: Client, _ now: NIODeadline, _ actions: inout [Action]
    ) {
        guard waiting.count(of: client) > 0 || held[client] != nil else {
            actions += words
            return
        }
        held[client, default: []].append(
            Held(number: waiting.nextNumber(), deadline: now + Self.patience, actions: words))
    }

    /// What nothing keeps back any more, for all clients.
    private mutating func release(at now: NIODeadline) -> [Action] {
        guard !held.isEmpty else { return [] }
        return held.keys.sorted().flatMap { client in
            release(to: client, before: waiting.oldest(of: client) ?? .max, at: now)
        }
    }

    private mutating func release(
        to client: Client, before number: UInt64, at now: NIODeadline
    ) -> [Action] {
        guard var answers = held[client] else { return [] }
        let count = answers.prefix { $0.number < number || $0.deadline <= now }.count
        let released = answers.prefix(count).flatMap(\.actions)
        answers.removeFirst(count)
        held[client] = answers.isEmpty ? nil : answers
        return released
    }

    // MARK: - Questions of relayd's own

    /// Asks for itself; `receiveFromVehicle` says `nobody` to the answer, which the caller has seen.
    package mutating func ask(_ command: Command, at now: NIODeadline) -> [Action] {
        var actions: [Action] = []
        guard isUp else { return actions }
        ask(command, for: nil, .plain, now, &actions)
        return actions
    }

    // MARK: - Time

    package var nextDeadline: NIODeadline? {
        let answers = held.values.lazy.compactMap { $0.first?.deadline }.min()
        guard let next = waiting.nextDeadline else { return answers }
        return answers.map { min($0, next) } ?? next
    }

    /// Answers that have not come belong to nobody any more.
    package mutating func advance(to now: NIODeadline) -> [Action] {
        var actions: [Action] = []
        for (name, asked) in waiting.expire(at: now) {
            var clients = asked.client.map { [$0] } ?? []
            if case .add(let added) = asked.purpose { clients += recurring.unanswered(added) }
            actions += clients.map { .note(.unanswered($0, name)) }
        }
        return actions + release(at: now)
    }

    /// Clients and requests at the moment, for status.
    package var recurringRequests: [DiagnosticRequest] { recurring.all }
    package var recurringOwners: [(request: DiagnosticRequest, owners: [Client])] {
        recurring.all.map { ($0, recurring.owners(of: $0).sorted()) }
    }
    package var switchOwners: [(key: SwitchKey, owners: [Client])] {
        switches.owned.map { ($0, switches.owners(of: $0).sorted()) }
    }
    package func permissions(of client: Client) -> WritePermissions {
        permissions[client] ?? .none
    }
}

extension Command {
    /// Whether relayd answers it, also while no vehicle interface is there.
    fileprivate var isForRelayd: Bool {
        if case .payloadFormat = self { true } else { false }
    }
}

/// What happened that somebody may want to read.
package enum Note<Client: Hashable & Sendable>: Hashable, Sendable {
    /// Something was written to the vehicle.
    case written(Client, VehicleMessage)
    /// Something was to be written, and the client may not.
    case writeRefused(Client, VehicleMessage)
    /// No vehicle interface is connected.
    case nobodyThere(Client, VehicleMessage)
    /// The client has too many commands without an answer.
    case tooManyCommands(Client, VehicleMessage)
    /// Nothing that a vehicle interface takes.
    case notForVehicle(Client, VehicleMessage)
    /// The vehicle interface has not answered in time.
    case unanswered(Client, CommandName)
    /// A vehicle interface would come to harm, or other clients.
    case unsafe(Client, VehicleMessage, Hazard)
}
