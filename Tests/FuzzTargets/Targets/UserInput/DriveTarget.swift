// Fuzz target: RPCs as people write them for `relayctl send` and `relayctl inject`.

import NIOCore
import SDLProtocol

extension FuzzTarget {
    static let drive = FuzzTarget(
        name: "drive",
        about: "the name of an RPC and its parameters, a line each, as relayctl send takes them",
        promise: "what is built is JSON, what is not is refused in one printable line",
        maximumBytes: 1024,
        words: {
            [
                "Show", "Alert", "PutFile", "OnButtonPress", "SubscribeButton", "GetVehicleData",
                "mainField1=", "graphic.value=", "graphic={}", "softButtons[0].type=TEXT",
                "softButtons:=[]", "duration=5000", "playTone=true", "buttonName=OK", "speed=88.5",
                "gps.latitudeDegrees=", ":=null", ":={\"a\":[1]}", "0x8001", "[1]", "[99999]", "=",
                ".", "1e999", "-0",
            ]
        },
        run: { bytes in
            guard let flags = bytes.first else { return }
            let lines = bytes.dropFirst().split(
                separator: 0x0A, maxSplits: 64, omittingEmptySubsequences: false
            ).map { String(decoding: $0, as: UTF8.self) }
            let json: String
            do throws(RPCBuildError) {
                json = try built(lines, flags)
            } catch {
                let line = error.description
                try ensure(
                    !line.isEmpty && line.unicodeScalars.allSatisfy(PrintableText.isPrintable),
                    "a refusal of \(line.debugDescription)")
                return
            }
            try ensure(
                (try? JSONObject(ByteBuffer(string: json))) != nil, "\(json.debugDescription)")
        })

    private static let builder = RPCBuilder(.builtIn)

    private static func built(
        _ lines: [String], _ flags: UInt8
    ) throws(RPCBuildError) -> String {
        var order = RPCBuilder.Order(lines.first ?? "", isUnchecked: flags & 1 == 1)
        if flags & 2 == 2 { order.type = .response }
        for line in lines.dropFirst() { order.assignments.append(try RPCAssignment(line)) }
        return try builder.build(order, from: flags & 4 == 4 ? .accessory : .app).json
    }
}
