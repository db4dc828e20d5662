import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing
import Traces

@testable import relayctl

@Suite("relayctl trace export") struct TraceExportTests {
    private static let items: [TapItem] = {
        var talk = TwoApps()
        talk.connect(TwoApps.radio, #"Radio, \"the\" one"#, session: 1, at: 1)
        talk.notify(
            TwoApps.radio, 1, .onVehicleData,
            #"{"speed":88.5,"gps":{"latitudeDegrees":47.1,"utc":{"hours":3}},"tires":[1, 2]}"#,
            at: 2)
        talk.request(TwoApps.radio, 1, .getVehicleData, 2, #"{"rpm":true}"#, at: 3)
        talk.send(
            .rpc(
                version: 5, sessionID: 1, messageID: 77, type: .response,
                functionID: FunctionID.getVehicleData.rawValue, correlationID: 2,
                json: #"{"success":true,"resultCode":"SUCCESS","rpm":2000,"gear":"A,B"}"#),
            TwoApps.radio, .fromAccessory, at: 3.5)
        return talk.items
    }()

    private func export(
        _ arguments: String..., of items: [TapItem] = Self.items
    ) async throws -> (code: Int32, out: String, error: String) {
        var result: (Int32, String, String) = (0, "", "")
        try await TraceSamples.run(
            ["trace", "export", "a.pcapng"] + arguments,
            on: ["a.pcapng": TraceSamples.bytes(items)]
        ) { code, out, error, _ in result = (code, out, error) }
        return result
    }

    @Test("vehicle data has a line for each time and a column for each item") func csv()
        async throws
    {
        let name = "\"Radio, \"\"the\"\" one\""
        #expect(
            try await export("--format", "csv") == (
                0,
                """
                time,app,gear,gps.latitudeDegrees,gps.utc.hours,rpm,speed,tires
                2026-11-23T10:00:02.000000Z,\(name),,47.1,3,,88.5,"[1,2]"
                2026-11-23T10:00:03.500000Z,\(name),"A,B",,,2000,,

                """, ""
            ))
        let some = try await export("--format", "csv", "rpc:OnVehicleData")
        #expect(some.out.hasPrefix("time,app,gps.latitudeDegrees,") && !some.out.contains("2000"))
        let none = try await export("--format", "csv", "rpc:Alert")
        #expect(none.code == 0 && none.out == "time,app\n")
    }

    @Test("what a spreadsheet would take for a formula is a text to it, and a number stays one")
    func formulas() async throws {
        var talk = TwoApps()
        talk.connect(TwoApps.radio, "=1+cmd|' /C calc'!A0", session: 1, at: 1)
        talk.notify(
            TwoApps.radio, 1, .onVehicleData,
            #"{"vin":"@SUM(1)","gps":{"longitudeDegrees":-83.5},"prndl":"-DRIVE","+x":"+1"}"#,
            at: 2)
        let csv = try await export("--format", "csv", of: talk.items).out
        #expect(
            csv == """
                time,app,'+x,gps.longitudeDegrees,prndl,vin
                2026-11-23T10:00:02.000000Z,'=1+cmd|' /C calc'!A0,+1,-83.5,'-DRIVE,'@SUM(1)

                """)
    }

    @Test("JSON lines are those of the API") func jsonl() async throws {
        var formatter = MessageFormatter(.json)
        var decoder = TrafficDecoder()
        var entries: [TrafficEntry] = []
        for item in Self.items { decoder.receive(item, into: &entries) }
        let live = entries.map { entry in
            var line = ByteBuffer()
            formatter.append(entry, to: &line)
            return String(buffer: line) + "\n"
        }
        #expect(try await export("--format", "jsonl").out == live.joined())
        let one = try await export("--format", "jsonl", "--rpc", "OnVehicleData")
        #expect(one.out.split(separator: "\n").count == 1)
    }

    @Test("a format that there is not, and standard input for csv, are refused") func refused()
        async throws
    {
        let format = try await export("--format", "xml")
        #expect(format.code == 64 && format.error.contains("--format"))
        try await TraceSamples.run(["trace", "export", "-", "--format", "csv"], on: [:]) {
            code, _, error, _ in
            #expect(code == 64 && error.contains("must be a file and not standard input"))
        }
    }
}
