import ControlAPI
import NIOCore
import OpenXCProtocol
import OpenXCRelay
import OpenXCTraffic
import RelayCore
import SDLProtocol

/// The requests that ask the vehicle interface something or write to the vehicle. `ControlResponder` has
/// decided before who may ask; `openxc.writes` decides what may be written.
extension VehicleHandlers {
    func addRequests(to routes: inout RouteHandlers) {
        routes.post(Routes.vehicleCommand) { request, _ in
            let wanted = try await request.controlBody(
                VehicleCommandRequest.self, example: VehicleCommandRequest.example)
            // Without a vehicle interface, errors in the command do not matter.
            _ = try theSource()
            return try ControlResponse.json(try await command(try wanted.asked()))
        }
        routes.post(Routes.vehicleDiagnostic) { request, _ in
            let wanted = try await request.controlBody(
                VehicleDiagnosticRequest.self, example: VehicleDiagnosticRequest.example)
            _ = try theSource()
            return try ControlResponse.json(
                try await diagnose(try wanted.asked(), wait: try wanted.wait()))
        }
        routes.post(Routes.vehicleWrite) { request, _ in
            let wanted = try await request.controlBody(
                VehicleWriteRequest.self, example: VehicleWriteRequest.example)
            _ = try theSource()
            return try ControlResponse.json(try await write(try wanted.asked()))
        }
        routes.post(Routes.vehicleStream) { request, context in
            let wanted = try await request.controlBody(
                VehicleStreamBody.self, example: VehicleStreamBody.example)
            let source = try theSource()
            // The vehicle is not asked anything if the query is invalid.
            _ = try VehicleStreamRequest(request)
            // The results are part of the stream.
            let start = source.traffic.latest
            let owner = try await own(try wanted.asked())
            return try stream(request, context, from: start, keeping: owner)
        }
    }

    private func conversation(hearsDiagnostics: Bool = false) async throws -> VehicleConversation {
        let source = try theSource()
        guard
            let conversation = try await VehicleConversation.begin(
                source.relay, hearsDiagnostics: hearsDiagnostics)
        else { throw wrongAccessory }
        return conversation
    }

    private func command(_ command: Command) async throws -> VehicleCommandReport {
        let (start, conversation) = (NIODeadline.now(), try await conversation())
        let response = try await conversation.ask(command)
        return VehicleCommandReport(
            command: command.name.word, status: response.status, message: response.message,
            milliseconds: Self.milliseconds(since: start))
    }

    private func diagnose(
        _ request: DiagnosticRequest, wait: TimeAmount
    ) async throws -> VehicleDiagnosticReport {
        let start = NIODeadline.now()
        let conversation = try await conversation(hearsDiagnostics: true)
        let (response, answers) = try await conversation.ask(request, wait: wait)
        let now = WallTime.now()
        return VehicleDiagnosticReport(
            status: response?.status, message: response?.message,
            answers: answers.map { VehicleDiagnostic($0, at: now, vehicleTime: nil) },
            milliseconds: Self.milliseconds(since: start))
    }

    private func write(_ content: VehicleMessage.Content) async throws -> ActionReport {
        try await conversation().write(content)
        return ActionReport(
            summary:
                "\(VehicleText.words(VehicleMessage(content))) was sent to the vehicle interface, "
                + "which does not say what becomes of a write")
    }

    /// - Returns: The object that keeps it switched on.
    private func own(_ commands: [Command]) async throws -> VehicleConversation {
        let conversation = try await conversation()
        for command in commands {
            let response = try await conversation.ask(command)
            guard !response.status else { continue }
            let said = response.message.isEmpty ? "" : ": \(response.message)"
            throw APIError(
                .vehicleRefused,
                "the vehicle interface refuses \(VehicleText.words(command))"
                    + PrintableText.string(said, limit: 200))
        }
        return conversation
    }

    private static func milliseconds(since start: NIODeadline) -> Double {
        Double((NIODeadline.now() - start).nanoseconds / 1000) / 1000
    }
}
