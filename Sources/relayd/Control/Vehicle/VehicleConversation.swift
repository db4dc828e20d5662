import ControlAPI
import NIOCore
import OpenXCProtocol
import OpenXCRelay
import OpenXCTraffic
import RelayCore
import SDLProtocol

/// One request of the control API to the vehicle interface. It joins the hub as a client does; what it
/// owns there is taken back when this object is released, however the request ends.
///
/// Used by one task at a time.
final class VehicleConversation: Sendable {
    private let relay: Relay
    private let guest: VehicleGuest

    /// The control API serves this machine only, so `openxc.writes` treats it like a client on this
    /// machine.
    private static let address = "127.0.0.1"

    /// - Parameter hearsDiagnostics: Whether modules of the vehicle will be asked.
    /// - Returns: nil if the accessory is not a vehicle interface.
    static func begin(
        _ relay: Relay, hearsDiagnostics: Bool = false
    ) async throws -> VehicleConversation? {
        guard let address = PeerAddress(parsing: address),
            let guest = try await relay.withVehicle({
                $0.admit(from: address, hearsDiagnostics: hearsDiagnostics)
            })
        else { return nil }
        return VehicleConversation(relay, guest)
    }

    private init(_ relay: Relay, _ guest: VehicleGuest) {
        self.relay = relay
        self.guest = guest
    }

    deinit {
        let guest = guest
        relay.onLanguage { ($0 as? OpenXCLanguage)?.dismiss(guest) }
    }

    // MARK: - Requests

    /// - Returns: The answer of the vehicle interface.
    func ask(_ command: Command) async throws -> CommandResponse {
        try await say(.command(command))
        for await event in guest.events {
            switch event {
            case .response(let response) where response.command == command.name: return response
            case .note(let note): try Self.fail(note)
            case .linkClosed(let reason): throw Self.unplugged(command, reason)
            case .response, .diagnostic, .isDue: continue
            }
        }
        throw CancellationError()
    }

    /// Asks modules of the vehicle once.
    ///
    /// - Parameter wait: How long to wait for their answers, once the vehicle interface has
    ///   accepted the request.
    func ask(
        _ request: DiagnosticRequest, wait: TimeAmount
    ) async throws -> (response: CommandResponse?, answers: [DiagnosticResponse]) {
        let command = Command.diagnosticRequest(.add, request)
        try await say(.command(command))
        var conversation = DiagnosticConversation(request)
        for await event in guest.events {
            switch event {
            case .response(let response) where response.command == .diagnosticRequest:
                conversation.taken(response)
                let guest = guest
                relay.loop.scheduleTask(in: wait) { guest.remind() }
            case .diagnostic(let answer): conversation.heard(answer)
            case .note(.unanswered) where !conversation.answers.isEmpty: conversation.end()
            case .note(let note): try Self.fail(note)
            case .linkClosed(let reason): throw Self.unplugged(command, reason)
            case .isDue: conversation.end()
            case .response: continue
            }
            if conversation.isOver { return (conversation.response, conversation.answers) }
        }
        throw CancellationError()
    }

    /// Returns once the message was sent to the vehicle interface, which never reports the result.
    func write(_ content: VehicleMessage.Content) async throws {
        try await say(content)
        for await event in guest.events {
            switch event {
            case .note(.written): return
            case .note(let note): try Self.fail(note)
            case .response, .diagnostic, .linkClosed, .isDue: continue
            }
        }
        throw CancellationError()
    }

    private func say(_ content: VehicleMessage.Content) async throws {
        let (guest, message) = (guest, VehicleMessage(content))
        _ = try await relay.withVehicle { $0.say(message, as: guest) }
    }

    // MARK: - Errors

    private static func fail(_ note: Note<AppID>) throws(APIError) {
        switch note {
        case .written: break
        case .writeRefused(_, let message):
            throw APIError(
                .forbidden,
                "\(VehicleText.words(message)) may not be written to the vehicle: openxc.writes "
                    + "allows it to nobody on this machine; expected there a line such as "
                    + "\"\(address) \(example(message))\"")
        case .nobodyThere:
            throw APIError(
                .conflict,
                "no vehicle interface is connected, so that nothing was asked; 'relayctl status' says "
                    + "what is in its way")
        case .tooManyCommands:
            throw APIError(
                .conflict,
                "the vehicle interface does not take commands as fast as they come; nothing was asked, "
                    + "try again in a moment")
        case .notForVehicle(_, let message):
            throw APIError(
                .badRequest,
                "a vehicle interface does not accept this: \(VehicleText.words(message))")
        case .unsafe(_, let message, let hazard):
            throw APIError(
                .badRequest,
                "not passed on, because it would do harm in a vehicle interface: "
                    + PrintableText.string(hazard.description, limit: 200)
                    + ": \(VehicleText.words(message))")
        case .unanswered(_, let name):
            let word = PrintableText.string(name.word, limit: 40)
            throw APIError(
                .noAnswer,
                "the vehicle interface has not answered \(word) in time; firmware does not answer "
                    + "commands that it does not know, nor some on hardware without the part")
        }
    }

    private static func unplugged(_ command: Command, _ reason: String) -> APIError {
        APIError(
            .conflict,
            "the link was closed before the vehicle interface answered \(command.name.word): "
                + PrintableText.string(reason, limit: 200))
    }

    /// The rule that would allow the message.
    private static func example(_ message: VehicleMessage) -> String {
        switch message.content {
        case .can(let frame) where frame.bus > 0: "can:\(frame.bus):\(VehicleText.hex(frame.id))"
        case .measurement(let measurement):
            "name:\(PrintableText.string(measurement.name, limit: 99))"
        default: "can"
        }
    }
}
