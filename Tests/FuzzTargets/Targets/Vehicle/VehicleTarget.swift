// Fuzz target: a vehicle interface and its clients, from the bytes they send to what each of them receives.

import OpenXCProtocol

extension FuzzTarget {
    static let openXCRelay = FuzzTarget(
        name: "openxc-relay",
        about:
            "four clients and a vehicle interface that comes and goes, through hub, router and encoders",
        promise:
            "clients and vehicle interface hear whole messages and none that they do not know; nothing is "
            + "written without a permission, and what nobody wants any more is taken back",
        isScript: true,
        words: { ["\"command\"", "payload_format", "diagnostic_request", "passthrough", "horn"] },
        seeds: { VehicleSeeds.scripts },
        run: { bytes in
            let world = try VehicleWorld()
            do {
                for step in FuzzScript(bytes) { try world.take(step) }
                try world.finish()
            } catch {
                world.end()
                throw error
            }
            world.end()
        })
}

/// Messages built from bytes.
enum FuzzMessage {
    static func ofVehicle(_ bytes: inout FuzzBytes) -> VehicleMessage {
        let time = bytes.byte() & 1 == 0 ? nil : Double(bytes.number())
        return VehicleMessage(content(&bytes), timestamp: time)
    }

    private static func content(_ bytes: inout FuzzBytes) -> VehicleMessage.Content {
        switch bytes.byte() % 5 {
        case 0: .measurement(measurement(&bytes))
        case 1: .can(can(&bytes))
        case 2:
            .diagnostic(
                DiagnosticResponse(
                    bus: Int32(bytes.byte()), id: bytes.number(), mode: UInt32(bytes.byte()),
                    pid: UInt32(bytes.byte()), success: bytes.byte() & 1 == 0,
                    payload: bytes.bytes(9),
                    frame: bytes.byte() & 1 == 0 ? nil : Int32(bytes.byte()) - 1))
        case 3:
            .response(
                CommandResponse(
                    bytes.one(of: CommandName.known), message: bytes.text(9),
                    status: bytes.byte() & 1 == 0))
        default: .command(command(&bytes))
        }
    }

    static func ofClient(_ bytes: inout FuzzBytes) -> VehicleMessage {
        switch bytes.byte() % 8 {
        case 0: VehicleMessage(.measurement(measurement(&bytes)))
        case 1: VehicleMessage(.can(can(&bytes)))
        case 2: VehicleMessage(content(&bytes))
        default: VehicleMessage(.command(command(&bytes)))
        }
    }

    private static func measurement(_ bytes: inout FuzzBytes) -> Measurement {
        let values: [VehicleValue] = [
            .number(Double(bytes.byte()) / 3), .flag(bytes.byte() & 1 == 0), .text(bytes.text(5)),
        ]
        return Measurement(
            bytes.one(of: [
                "a", "horn", "door_status", "\u{e9}", String(repeating: "x", count: 400),
            ]),
            bytes.one(of: values), event: bytes.byte() & 1 == 0 ? nil : bytes.one(of: values))
    }

    private static func can(_ bytes: inout FuzzBytes) -> CANMessage {
        CANMessage(bus: Int32(bytes.byte() % 3), id: UInt32(bytes.byte()), data: bytes.bytes(8))
    }

    private static func command(_ bytes: inout FuzzBytes) -> Command {
        let bus = Int32(bytes.byte() % 3)
        let isOn = bytes.byte() & 1 == 0
        switch bytes.byte() % 10 {
        case 0: return .passthrough(bus: bus, enabled: isOn)
        case 1: return .acceptanceFilterBypass(bus: bus, bypass: isOn)
        case 2: return .payloadFormat(isOn ? .json : .protobuf)
        case 3: return .predefinedOBD2(enabled: isOn)
        case 4: return bytes.one(of: [.version, .deviceID, .platform, .vin, .sdMountStatus])
        case 5: return .rtcConfiguration(unixTime: bytes.number())
        case 6: return .modemConfiguration(ModemConfiguration(host: bytes.text(9), port: 80))
        default:
            let request = DiagnosticRequest(
                bus: bus, id: UInt32(bytes.byte() % 3) + 1, mode: UInt32(bytes.byte() % 2) + 1,
                pid: UInt32(bytes.byte() % 2), frequency: Double(bytes.byte() % 14),
                name: bytes.byte() & 3 == 0 ? bytes.text(11) : nil)
            return .diagnosticRequest(isOn ? .add : .cancel, request)
        }
    }
}

private enum VehicleSeeds {
    static var scripts: [[UInt8]] {
        let says = { (kind: Int, whom: Int, text: String) in
            FuzzScript.Step(kind, of: whom, Array(text.utf8) + [0])
        }
        let add =
            #"{"command":"diagnostic_request","action":"add","request":{"bus":1,"id":2016,"mode":1,"pid":12,"#
        return [
            [
                says(1, 0, add + #""frequency":1}}"#), says(1, 1, add + #""frequency":5}}"#),
                FuzzScript.Step(7, []), FuzzScript.Step(7, []), FuzzScript.Step(7, []),
                FuzzScript.Step(10, of: 1, []), FuzzScript.Step(11, []),
                FuzzScript.Step(11, of: 1, []),
            ],
            [
                says(1, 0, #"{"command":"version"}"#),
                says(1, 0, #"{"command":"payload_format","format":"protobuf"}"#),
                FuzzScript.Step(7, []), says(0, 0, #"{"name":"vehicle_speed","value":1.5}"#),
                FuzzScript.Step(8, [3]),
            ],
            [
                says(1, 0, #"{"bus":1,"id":291,"data":"0x01"}"#),
                says(1, 1, #"{"name":"horn","value":true}"#),
                FuzzScript.Step(9, of: 3, []), says(0, 0, #"{"name":"a","value":1}"#),
                says(1, 1, #"{"command":"passthrough","bus":1,"enabled":true}"#),
                FuzzScript.Step(12, of: 9, []), says(0, 0, #"{"bus":1,"id":5,"data":"0x01"}"#),
            ],
            [
                says(1, 0, #"{"Command":"payload_format","format":"protobuf","command":"x"}"#),
                says(1, 1, #"{"command":"version2"}"#),
                FuzzScript.Step(0, [6, 8, 5, 0x32, 2, 8, 1]),
            ],
        ].map { FuzzScript.bytes(of: $0) }
    }
}
