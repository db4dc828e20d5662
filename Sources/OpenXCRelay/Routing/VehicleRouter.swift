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

    private var permissions: [Client: WritePermissions] = [:]
    private var isUp = false
    private var waiting = AnswerQueue<Client>()
    private var switches = SharedSwitches<Client>()
    private var recurring = RecurringRequests<Client>()

    package init() {}

    // MARK: - Clients come and go

    package mutating func connected(_ client: Client, may permissions: WritePermissions = .none) {
        self.permissions[client] = permissions
    }

    /// Takes back what only this client wanted.
    package mutating func disconnected(_ client: Client, at now: NIODeadline) -> [Action] {
        permissions[client] = nil
        waiting.forget(client)
        var actions: [Action] = []
        for key in switches.leave(client) where isUp {
            ask(key.command(isOn: false), for: nil, .plain, now, &actions)
        }
        for request in recurring.leave(client) where isUp {
            ask(.diagnosticRequest(.cancel, request), for: nil, .plain, now, &actions)
        }
        return actions
    }

    /// A vehicle interface that comes back knows nothing of what it was asked before.
    package mutating func linkOpened(at now: NIODeadline) -> [Action] {
        isUp = true
        var actions: [Action] = []
        for key in switches.owned {
            ask(key.command(isOn: true), for: nil, .switchOn(key, nil), now, &actions)
        }
        for request in recurring.all {
            ask(
                .diagnosticRequest(.add, request), for: nil, .add(DiagnosticKey(request)), now,
                &actions)
        }
        return actions
    }

    package mutating func linkClosed() {
        isUp = false
        waiting = AnswerQueue()
    }

    // MARK: - Vehicle interface → clients

    package mutating func receiveFromVehicle(_ message: VehicleMessage) -> Destination {
        switch message.content {
        case .measurement, .can, .diagnostic: return .all
        case .response(let response):
            guard let asked = waiting.take(response.command) else { return .all }
            settle(asked.purpose, response)
            guard let client = asked.client, permissions[client] != nil else { return .nobody }
            return .client(client)
        // Clients know no such objects, and some stop reading at one.
        case .command, .header, .unknown: return .nobody
        }
    }

    /// What was asked for did not come about: then nobody owns it.
    private mutating func settle(_ purpose: Purpose<Client>, _ response: CommandResponse) {
        guard !response.status else { return }
        switch purpose {
        case .plain: break
        case .switchOn(let key, let client): switches.refused(key, client)
        case .add(let key): recurring.refused(key)
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
        if case .payloadFormat(let format) = command {
            // In the old form, as a vehicle interface does it.
            answer(client, .payloadFormat, true, &actions)
            actions.append(.setFormat(client, format))
            return
        }
        guard isUp else {
            // No answer, as from a vehicle interface that is not there.
            actions.append(.note(.nobodyThere(client, message)))
            return
        }
        guard waiting.count(of: client) < Self.maximumPending else {
            actions.append(.note(.tooManyCommands(client, message)))
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
            answer(client, key.command(isOn: false).name, true, &actions)
        }
    }

    private mutating func add(
        _ request: DiagnosticRequest, _ client: Client, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        let key = DiagnosticKey(request)
        switch recurring.own(request, client, maximum: Self.maximumRecurring) {
        case .new:
            ask(.diagnosticRequest(.add, request), for: client, .add(key), now, &actions)
        case .faster(let before):
            // A vehicle interface refuses a second one beside the first.
            ask(.diagnosticRequest(.cancel, before), for: nil, .plain, now, &actions)
            ask(.diagnosticRequest(.add, request), for: client, .add(key), now, &actions)
        case .shared: answer(client, .diagnosticRequest, true, &actions)
        case .refused: answer(client, .diagnosticRequest, false, &actions)
        }
    }

    private mutating func cancel(
        _ request: DiagnosticRequest, _ client: Client, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        switch recurring.disown(DiagnosticKey(request), client) {
        case .lastOne, .unknown:
            ask(.diagnosticRequest(.cancel, request), for: client, .plain, now, &actions)
        case .othersLeft: answer(client, .diagnosticRequest, true, &actions)
        case .foreign: answer(client, .diagnosticRequest, false, &actions)
        }
    }

    private mutating func ask(
        _ command: Command, for client: Client?, _ purpose: Purpose<Client>, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        let timeout = command == .vin ? Self.vinTimeout : Self.answerTimeout
        waiting.add(command.name, client, purpose, until: now + timeout)
        actions.append(.toVehicle(VehicleMessage(.command(command))))
    }

    private func answer(
        _ client: Client, _ command: CommandName, _ status: Bool, _ actions: inout [Action]
    ) {
        actions.append(
            .toClient(client, VehicleMessage(.response(CommandResponse(command, status: status)))))
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

    package var nextDeadline: NIODeadline? { waiting.nextDeadline }

    /// Answers that have not come belong to nobody any more.
    package mutating func advance(to now: NIODeadline) -> [Action] {
        waiting.expire(at: now).compactMap { name, client in
            client.map { .note(.unanswered($0, name)) }
        }
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
}
