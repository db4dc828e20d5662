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
/// Values only, generic over the client type; `OpenXCLanguage` carries out its actions.
package struct VehicleRouter<Client: Hashable & Comparable & Sendable>: Sendable {
    /// An action to carry out, in the order given.
    package enum Action: Hashable, Sendable {
        case toVehicle(VehicleMessage)
        case toClient(Client, VehicleMessage)
        /// From here on, messages to this client have this form.
        case setFormat(Client, PayloadFormat)
        case note(Note<Client>)
    }

    /// The receivers of a message from the vehicle interface.
    package enum Destination: Hashable, Sendable {
        /// Every client whose subscription it fits.
        case all
        case client(Client)
        /// The message was for the router itself, or for a client that is gone.
        case nobody
    }

    /// How long an answer may take before it is given up. The vehicle interface may have to ask the vehicle
    /// for a VIN; clients wait for 0.3 to 2 s.
    package static var answerTimeout: TimeAmount { .seconds(3) }
    package static var vinTimeout: TimeAmount { .seconds(10) }
    /// Maximum unanswered commands of one client.
    package static var maximumPending: Int { 32 }
    /// Maximum recurring requests that firmware keeps at once.
    package static var maximumRecurring: Int { 20 }
    /// Firmware refuses higher frequencies, in Hz.
    package static var maximumFrequency: Double { 10 }
    /// How long relayd's own answer is held back behind the vehicle interface's answers to the client's
    /// earlier commands. Clients that count answers need the order; none waits less than 300 ms.
    package static var patience: TimeAmount { .milliseconds(200) }

    private let answerTimeout: TimeAmount
    private var permissions: [Client: WritePermissions] = [:]
    private var isUp = false
    private var waiting = AnswerQueue<Client>()
    private var switches = SharedSwitches<Client>()
    private var recurring = RecurringRequests<Client>()
    /// relayd's own answers, in the order of asking.
    private var held: [Client: [Held]] = [:]

    private struct Held: Sendable {
        var number: UInt64
        var deadline: NIODeadline
        var actions: [Action]
    }

    /// - Parameter answerTimeout: The timeout of all commands but the VIN, which has its own.
    package init(answerTimeout: TimeAmount = Self.answerTimeout) {
        self.answerTimeout = answerTimeout
    }

    // MARK: - Clients come and go

    package mutating func connected(_ client: Client, may permissions: WritePermissions = .none) {
        self.permissions[client] = permissions
    }

    /// Sets what a client may write from here on.
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

    /// A vehicle interface that comes back remembers nothing that it was asked before.
    package mutating func linkOpened(at now: NIODeadline) -> [Action] {
        isUp = true
        // Commands sent in a form that it did not understand get no answer.
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

    /// - Returns: The held answers, now that those of the vehicle interface no longer come.
    package mutating func linkClosed(at now: NIODeadline) -> [Action] {
        isUp = false
        waiting = AnswerQueue()
        return release(at: now)
    }

    // MARK: - Vehicle interface → clients

    /// How a message of the vehicle interface is to be delivered.
    package struct Delivery: Hashable, Sendable {
        /// To be done before the message is delivered.
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
        // Clients do not know such objects, and some stop reading at one.
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
            // The client's earlier commands that are still unanswered get no answer any more.
            delivery.before = release(to: client, before: asked.number, at: now)
        }
        settle(asked.purpose, response, now, &delivery.after)
        // No other client's oldest command has changed.
        if let client = asked.client {
            let oldest = waiting.oldest(of: client) ?? .max
            delivery.after += release(to: client, before: oldest, at: now)
        }
        return delivery
    }

    /// Takes back what the vehicle interface has refused, and answers the clients that share a request.
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
            // No answer, just as without a vehicle interface.
            actions.append(.note(.nobodyThere(client, message)))
            return
        }
        // This limit includes relayd's own answers, which may have to wait for those of the vehicle
        // interface.
        guard waiting.count(of: client) + (held[client]?.count ?? 0) < Self.maximumPending else {
            actions.append(.note(.tooManyCommands(client, message)))
            return
        }
        if case .payloadFormat(let format) = command {
            // The answer is in the old form, as a vehicle interface gives it.
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

    /// Sends each command that turns a switch on, even if it is on: the answer tells whether there is such a
    /// bus.
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
            // Other clients want it on.
            answer(client, key.command(isOn: false).name, true, now, &actions)
        }
    }

    private mutating func add(
        _ request: DiagnosticRequest, _ client: Client, _ now: NIODeadline,
        _ actions: inout [Action]
    ) {
        // A request that firmware refuses must not replace one that it has.
        guard request.frequency <= Self.maximumFrequency else {
            return answer(client, .diagnosticRequest, false, now, &actions)
        }
        switch recurring.own(request, client, maximum: Self.maximumRecurring) {
        case .new(let added):
            ask(.diagnosticRequest(.add, request), for: client, .add(added), now, &actions)
        case .faster(let before, let added):
            // A vehicle interface refuses a second request beside the first.
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

    /// Replaces a request whose fastest client has gone. A vehicle interface has no other way to change one.
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

    /// Sends answers once the client has those to its earlier commands: a vehicle interface answers in the
    /// order of asking.
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

    /// The held answers of all clients that nothing holds back any more.
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

    /// Asks on relayd's own behalf. For the answer, `receiveFromVehicle` returns `nobody`: the caller has
    /// seen it.
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

    /// Gives up answers that have not come in time.
    package mutating func advance(to now: NIODeadline) -> [Action] {
        var actions: [Action] = []
        for (name, asked) in waiting.expire(at: now) {
            var clients = asked.client.map { [$0] } ?? []
            if case .add(let added) = asked.purpose { clients += recurring.unanswered(added) }
            actions += clients.map { .note(.unanswered($0, name)) }
        }
        return actions + release(at: now)
    }

    /// The recurring requests, switches and permissions at the moment, for status.
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
    /// Whether relayd answers the command itself, even without a vehicle interface.
    fileprivate var isForRelayd: Bool {
        if case .payloadFormat = self { true } else { false }
    }
}

/// An event to report.
package enum Note<Client: Hashable & Sendable>: Hashable, Sendable {
    /// Something was written to the vehicle.
    case written(Client, VehicleMessage)
    /// A client tried to write something that it may not write.
    case writeRefused(Client, VehicleMessage)
    /// No vehicle interface is connected.
    case nobodyThere(Client, VehicleMessage)
    /// The client has too many commands without an answer.
    case tooManyCommands(Client, VehicleMessage)
    /// The message is nothing that a vehicle interface takes.
    case notForVehicle(Client, VehicleMessage)
    /// The vehicle interface has not answered in time.
    case unanswered(Client, CommandName)
    /// The message would harm the vehicle interface or other clients.
    case unsafe(Client, VehicleMessage, Hazard)
}
