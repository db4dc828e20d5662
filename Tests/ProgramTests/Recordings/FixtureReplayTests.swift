// The recorded sessions of Tests/Fixtures/captures as traces, replayed by the built programs: their head
// unit to the sample app, and their app to the simulated head unit.

import ControlAPI
import Foundation
import Glibc
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import Testing
import Traces

@Suite("The built programs replay every recorded session of the fixtures", .serialized)
struct FixtureReplayTests {
    /// A recorded session, and where its replay cannot match the recording.
    struct Fixture: Sendable, CustomTestStringConvertible {
        var name: String
        /// The name its app registers with.
        var app = "Relay Test"
        /// Why the sample app cannot finish; nil where it can.
        var ending: String?
        /// Requests of the sample app that the recorded app never made, or not with these parameters.
        var onlyNow = ["PutFile", "SetAppIcon", "Show", "Alert"].map(otherParameters)
        /// Requests of the recorded app that the sample app does not make.
        var onlyThen = [
            "CreateInteractionChoiceSet", "DeleteInteractionChoiceSet", "AddCommand", "PutFile",
            "Show",
            "ListFiles", "GetVehicleData",
        ]
        var registrations = 1
        /// What else `sim:` says or leaves out.
        var otherwise: [String] = []
        /// What relayd adds when the app has left without a goodbye.
        var goodbye: [String] = []

        var testDescription: String { name }
    }

    private static func otherParameters(_ function: String) -> String {
        "\(function) came with other parameters than in the recording; it was answered as then"
    }

    static let all = [
        Fixture(name: "js-full-1"),
        Fixture(name: "js-killed-1", goodbye: ["+ EndService rpc"]),
        // `sim:` is never switched off; the recorded head unit is, before the sample app is done.
        Fixture(
            name: "js-core-stops-1", ending: "the head unit ended the session",
            otherwise: [
                "EndService did not come within 2 s",
                "OnAppInterfaceUnregistered did not come within 2 s",
            ], goodbye: ["+ EndService rpc"]),
        // The second of its apps sent Unregister and EndService at once; sdl_core handled EndService first.
        Fixture(
            name: "java-zero-message-id-1", app: "Java Relay Test",
            onlyNow: [
                otherParameters("PutFile"),
                "SetAppIcon is not in the recording; it was answered with UNSUPPORTED_REQUEST",
                otherParameters("Show"), otherParameters("Alert"),
            ],
            onlyThen: ["CreateInteractionChoiceSet", "DeleteInteractionChoiceSet", "AddCommand"],
            registrations: 2, otherwise: ["a different answer to UnregisterAppInterface"]),
    ]

    /// The recorded session as relayd would have recorded it.
    private static func trace(_ name: String, in directory: TemporaryDirectory) throws -> String {
        var encoder = TraceEncoder(
            TraceHeader(program: "relayd 0.0.0", accessory: "tcp:", started: "2026-11-21T10:31:07Z")
        )
        var bytes = ByteBuffer()
        let start = WallTime(nanoseconds: 1_795_257_067_000_000_000)
        encoder.begin(started: "2026-11-21T10:31:07Z", at: start, into: &bytes)
        for item in try RelayTesting.Capture.items(name) {
            encoder.append(item, at: start, into: &bytes)
        }
        encoder.end(because: "stopped", at: start, into: &bytes)
        let path = directory.file("\(name).pcapng")
        try Data(bytes.readableBytesView).write(to: URL(filePath: path))
        return path
    }

    @Test("there is no fixture that is not replayed")
    func complete() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Checkout.captures.path)
        let names = files.filter { $0.hasSuffix(".up.bin") }.map { $0.dropLast(7) }
        #expect(Set(names.map(String.init)) == Set(Self.all.map(\.name)))
    }

    @Test(
        "the head unit of a fixture answers the sample app, and relayd says where that app asks otherwise",
        arguments: all)
    func headUnit(fixture: Fixture) async throws {
        try await TemporaryDirectory.run { directory in
            let path = try Self.trace(fixture.name, in: directory)
            try await Relayd.run(accessory: "replay:\(path)?speed=max") { relayd in
                try await relayd.until("open") { $0.accessory.state == .open }
                let app = try await relayd.relayctl(
                    "sample-app", "--connect", "127.0.0.1:\(relayd.port)", "--name", fixture.app,
                    "--app-id", "sample")
                let said = "\(app.output)\n\(app.errors)"
                #expect(app.ending == .exited(fixture.ending == nil ? 0 : 1), "\(said)")
                if let ending = fixture.ending { #expect(app.errors.contains(ending), "\(said)") }
                try await relayd.until("no app") { $0.apps.isEmpty }
                relayd.process.signal(SIGTERM)
                _ = try await relayd.process.ended()
                let lines = try await relayd.process.errors.untilEnd()
                let told = lines.compactMap { $0.firstMatch(of: #/is not the recording: (.*)/#)?.1 }
                let expected =
                    fixture.onlyNow
                    + fixture.onlyThen.map { "the recorded app asked \($0), this one did not" }
                #expect(told.map(String.init) == expected.map { "\(fixture.app): \($0)" })
            }
        }
    }

    @Test(
        "a fixture's app in front of a fixture's head unit, recorded: the conversation of the fixture",
        arguments: all)
    func roundTrip(fixture: Fixture) async throws {
        try await TemporaryDirectory.run { directory in
            let path = try Self.trace(fixture.name, in: directory)
            try await Relayd.run(
                accessory: "replay:\(path)?speed=max",
                config: Relayd.quickGoodbyes + "record:\n  always: true\n"
            ) { relayd in
                try await relayd.until("open") { $0.accessory.state == .open }
                let status = try await ControlRequest.get(Routes.record, at: relayd.controlSocket)
                let report = try APICoding.decode(RecordReport.self, from: status.body)
                let recorded = try #require(report.recording?.file)
                let played = try await relayd.relayctl(
                    "replay", path, "--to", "relayd", "--speed", "max", "--check")
                #expect(played.ending == .exited(0), "\(played.output)\(played.errors)")
                try await relayd.until("no app") { $0.apps.isEmpty }
                let stopped = try await relayd.relayctl("record", "stop")
                #expect(stopped.ending == .exited(0), "\(stopped.errors)")
                let diff = try await Program.relayctl.run(["trace", "diff", path, recorded])
                let differences = diff.output.split(separator: "\n").filter {
                    $0.hasPrefix("+ ") || $0.hasPrefix("- ")
                }
                #expect(differences.map(String.init) == fixture.goodbye, "\(diff.output)")
                let isSame = fixture.goodbye.isEmpty
                #expect(diff.ending == .exited(isSame ? 0 : 1), "\(diff.errors)")
            }
        }
    }

    private struct Report: Decodable {
        struct Entry: Decodable {
            var kind: String
            var text: String
            var lines: [String]
        }

        var outcome: String
        var requests: Int
        var answers: Int
        var divergences: [Entry]
    }

    /// The keys that describe a head unit when an app registers; `sim:` is not the recorded one.
    private static let description: Set<String> = [
        "audioPassThruCapabilities", "buttonCapabilities", "displayCapabilities", "hmiCapabilities",
        "iconResumed", "prerecordedSpeech", "sdlVersion", "softButtonCapabilities",
        "systemSoftwareVersion", "vehicleType",
    ]

    @Test(
        "the app of a fixture gets the recorded answers from sim:, but for what describes the head unit",
        arguments: all)
    func app(fixture: Fixture) async throws {
        try await TemporaryDirectory.run { directory in
            let path = try Self.trace(fixture.name, in: directory)
            try await Relayd.run(accessory: "sim:") { relayd in
                try await relayd.until("open") { $0.accessory.state == .open }
                let played = try await relayd.relayctl(
                    "replay", path, "--to", "relayd", "--speed", "max", "--check", "--json")
                let report = try JSONDecoder().decode(Report.self, from: Data(played.output.utf8))
                #expect(report.outcome == "done" && played.ending == .exited(1))
                #expect(report.requests > 10 && report.answers >= report.requests)
                let session =
                    [
                        "a different answer to RegisterAppInterface",
                        // `sim:` has no policies to exchange.
                        "OnSystemRequest did not come within 2 s",
                    ]
                let sessions = Array(repeatElement(session, count: fixture.registrations).joined())
                #expect(report.divergences.map(\.text) == sessions + fixture.otherwise)
                for divergence in report.divergences
                where divergence.text.hasSuffix("RegisterAppInterface") {
                    let keys = divergence.lines.map {
                        $0.dropFirst(2).prefix { !".[:".contains($0) }
                    }
                    #expect(Set(keys.map(String.init)).isSubset(of: Self.description))
                }
            }
        }
    }
}
