// How the sample app handles what the head unit sends.

import NIOCore
import SDLProtocol

extension SampleApp {
    mutating func receive(_ frame: Frame) {
        switch frame.type {
        case .control: receiveControl(frame)
        case .single, .first, .consecutive:
            guard frame.service.carriesRPC, frame.sessionID == session?.sessionID else { return }
            let time = Int64(clamping: now.uptimeNanoseconds)
            guard case .message(let message, _) = assembler.receive(frame, at: time) else { return }
            receive(message)
        }
    }

    // MARK: Control

    private mutating func receiveControl(_ frame: Frame) {
        switch (frame.controlType, frame.service) {
        case (.startServiceACK, .rpc): if step == .startService { opened(SessionGrant(frame)) }
        case (.startServiceNAK, .rpc):
            fail("StartService was refused\(reason(in: frame))")
        case (.heartbeat, _):
            output.frames.append(
                Frame(
                    version: frame.version, type: .control, service: .control,
                    info: ControlFrameType.heartbeatACK.rawValue, sessionID: frame.sessionID,
                    messageID: frame.messageID ?? 0))
        case (.endService, .rpc): endedByHeadUnit(frame)
        case (.endServiceACK, .rpc):
            guard step == .endService else { return }
            say("session \(frame.sessionID) ended")
            goOn()
        case (.endServiceNAK, .rpc):
            fail("EndService was refused\(reason(in: frame))")
        default: break
        }
    }

    private mutating func opened(_ grant: SessionGrant) {
        session = grant
        let version = grant.fullVersion ?? "\(grant.version)"
        let vehicle = [grant.make, grant.model].compactMap { $0 }.joined(separator: " ")
        say(
            "session \(grant.sessionID) opened, protocol \(version)"
                + (vehicle.isEmpty ? "" : ", \(vehicle)"))
        goOn()
    }

    private mutating func endedByHeadUnit(_ frame: Frame) {
        guard frame.sessionID == session?.sessionID else { return }
        output.frames.append(
            Frame(
                version: frame.version, type: .control, service: .rpc,
                info: ControlFrameType.endServiceACK.rawValue, sessionID: frame.sessionID,
                messageID: frame.messageID ?? 0))
        fail("the head unit ended the session")
    }

    /// Versions before 5.3 give no reason.
    private func reason(in frame: Frame) -> String {
        guard let document = ControlPayload(frame).document else { return "" }
        if let reason = document.string(ControlKey.reason) { return ": \(reason)" }
        guard let keys = document.array(ControlKey.rejectedParams) else { return "" }
        return ": rejected " + keys.map(\.description).joined(separator: ", ")
    }

    // MARK: RPC

    private mutating func receive(_ message: Message) {
        guard let rpc = try? RPCMessage(message) else {
            say("a message of the head unit is not an RPC, ignored")
            return
        }
        switch rpc.type {
        case .notification: receiveNotification(rpc)
        case .response: receiveResponse(rpc)
        case .request: break
        }
    }

    private mutating func receiveNotification(_ rpc: RPCMessage) {
        switch rpc.functionID {
        case .onHMIStatus:
            hmiLevel = rpc.parameters.string("hmiLevel").flatMap(HMILevel.init(rawValue:))
            if step == .activation, hmiLevel == .full { activated() }
        case .onVehicleData: receiveVehicleData(rpc.parameters)
        case .onAppInterfaceUnregistered:
            fail(
                "the head unit unregistered the app: "
                    + (rpc.parameters.string("reason") ?? "no reason given"))
        default: break
        }
    }

    private mutating func receiveVehicleData(_ data: JSONObject) {
        receivedVehicleData += 1
        let gps = data.object("gps")
        let parts = [
            data.double("speed").map { "\($0) km/h" },
            data.integer("rpm").map { "\($0) rpm" },
            gps?.double("latitudeDegrees").map { "latitude \($0)" },
            gps?.double("longitudeDegrees").map { "longitude \($0)" },
        ].compactMap { $0 }
        say("vehicle data: " + (parts.isEmpty ? "nothing known" : parts.joined(separator: ", ")))
        guard step == .vehicleData else { return }
        nextDeadline = now + TimeAmount(configuration.vehicleDataPatience)
        if receivedVehicleData >= Self.vehicleDataCount { goOn() }
    }

    private mutating func receiveResponse(_ rpc: RPCMessage) {
        guard let awaited, rpc.correlationID == correlationID else { return }
        let result = rpc.parameters.string("resultCode") ?? "no result code"
        let info = rpc.parameters.string("info").map { " (\($0))" } ?? ""
        if rpc.parameters.bool("success") == true {
            succeeded(awaited, rpc.parameters, result: result)
        } else if Self.optional.contains(awaited), Self.matterOfPolicy.contains(result) {
            say("\(awaited): \(result)\(info); going on without")
            goOn()
        } else {
            fail("\(awaited): \(result)\(info)\(hint(for: result))")
        }
    }

    private mutating func succeeded(_ function: FunctionID, _ data: JSONObject, result: String) {
        switch function {
        case .registerAppInterface: say("registered as \"\(configuration.name)\": \(result)")
        case .listFiles:
            let names = data.array("filenames")
            let files = names?.elements.compactMap { names?.string($0) } ?? []
            say(
                "files on the head unit: "
                    + (files.isEmpty ? "none" : files.joined(separator: ", ")))
        case .putFile:
            chunkTaken()
            return
        case .subscribeVehicleData:
            isSubscribed = true
            say("subscribed to speed, rpm and gps: \(result)")
        default: say("\(function): \(result)")
        }
        goOn()
    }

    /// Requests that a head unit's policy may forbid an app that it does not know.
    private static let optional: Set<FunctionID> = [
        .listFiles, .setAppIcon, .subscribeVehicleData, .alert, .unsubscribeVehicleData,
    ]
    private static let matterOfPolicy: Set<String> = [
        "DISALLOWED", "USER_DISALLOWED", "VEHICLE_DATA_NOT_ALLOWED", "VEHICLE_DATA_NOT_AVAILABLE",
        "UNSUPPORTED_REQUEST", "UNSUPPORTED_RESOURCE",
    ]

    private func hint(for result: String) -> String {
        switch result {
        case "APPLICATION_REGISTERED_ALREADY", "DUPLICATE_NAME":
            "; another app with this name or app ID is registered, choose others"
        default: ""
        }
    }
}
