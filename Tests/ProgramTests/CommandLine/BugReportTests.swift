// relayctl bugreport against the built relayd: what is in the file, and what is not.

import ControlAPI
import Foundation
import Glibc
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("A bug report of the built programs", .serialized)
struct BugReportTests {
    /// All files of the archive, one after the other, with their names.
    private static func unpacked(_ file: String) async throws -> String {
        let text = try await ChildProcess.run(
            "/bin/sh",
            ["-c", "tar -tzf \"$1\" && tar -xOzf \"$1\"", "sh", file],
            environment: Program.environment())
        #expect(text.ending == .exited(0), "\(text.errors)")
        return text.output
    }

    /// Private data that an app and a head unit exchange.
    private enum Secret {
        static let vin = "1FMEU73E96UA12345"
        static let phones = ["+41791234567", "0799876543"]
        static let place = "48.137154"
        static let person = "Home of Ann"
        static let hashID: UInt32 = 0x7a1d_ebef
        static let resumption = "r3sumpt10n"
        static let device = "Pixel of Ann"
        static let texts = phones + [vin, place, person, resumption, device]

        /// The text as it appears in a dump, with and without spaces.
        static func dumps(_ text: String) -> [String] {
            let pairs = text.utf8.map { String($0, radix: 16) }
            return [pairs.joined(), pairs.joined(separator: " ")]
        }
    }

    @Test("planted secrets do not get into the file, in whatever form relayd tells of them")
    func secrets() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await headUnit.start(1, for: app, hashID: Secret.hashID)
                func say(_ function: FunctionID, _ id: Int32, _ json: String) async throws {
                    try await app.send(
                        .rpc(
                            session: 1, message: UInt32(id), .request, function, correlation: id,
                            json: json))
                    _ = try await headUnit.next()
                }
                func tell(_ function: FunctionID, _ json: String) async throws {
                    try await headUnit.send(
                        .rpc(session: 1, .notification, function, correlation: 0, json: json))
                    _ = try await app.next()
                }
                try await say(
                    .registerAppInterface, 1,
                    registration("Ann").replacing(
                        "{\"sync",
                        with: "{\"deviceInfo\":{\"os\":\"\(Secret.device)\"},\"sync"))
                try await say(.dialNumber, 2, #"{"nmber":"\#(Secret.phones[0])"}"#)
                try await say(.dialNumber, 3, #"{"number":"\#(Secret.phones[1])"}"#)
                try await say(
                    .sendLocation, 4,
                    #"{"latitudeDegrees":\#(Secret.place),"longitudeDegrees":11.576124,"#
                        + #""locationName":"\#(Secret.person)"}"#)
                try await tell(.onVehicleData, #"{"vin":"\#(Secret.vin)","rpm":900}"#)
                try await tell(
                    .onVehicleData, #"{"gps":{"latitudeDegrees":\#(Secret.place)}}"#)
                try await tell(.onHashChange, #"{"hashID":"\#(Secret.resumption)"}"#)
                // Broken, so that relayd shows raw bytes.
                try await say(.dialNumber, 5, #"{"number":"\#(Secret.phones[0])""#)
                try await say(.show, 6, #"{"mainField1":"\#(Secret.vin)""#)
                // Without its hash ID, so that relayd says which one was expected.
                try await app.send(.control(.endService, session: 1))
                _ = try await headUnit.next()
                _ = try await relayd.process.errors.wait(for: "advice on the hash ID") { lines in
                    lines.first { $0.contains("carries no hash ID, expected 0x7a1debef") }
                }

                let file = relayd.directory.file("report.tar.gz")
                let report = try await relayd.relayctl(
                    "bugreport", "--with-payloads", "--file", file)
                #expect(report.ending == .exited(0), "\(report.errors)")
                let text = try await Self.unpacked(file)
                for secret in Secret.texts {
                    for form in [secret] + Secret.dumps(secret) {
                        let place = text.firstRange(of: form).map { range in
                            text[..<range.lowerBound].suffix(200)
                        }
                        #expect(place == nil, "\(form)")
                    }
                }
                for hash in ["7a1debef", "7A1DEBEF", "\(Secret.hashID)"] {
                    #expect(!text.contains(hash), "\(hash)")
                }
                // The secrets were there to be redacted, and everything else is still there.
                for words in [
                    "[redacted]", "DialNumber", "SendLocation", "OnHashChange", "\"rpm\"",
                    "\"900\"", "Ann", "carries no hash ID, expected [redacted]", "\"schema\"",
                ] {
                    #expect(text.contains(words), "\(words)")
                }
                // Unless asked for, parameters are left out altogether.
                let plain = relayd.directory.file("plain.tar.gz")
                let other = try await relayd.relayctl("bugreport", "--file", plain)
                #expect(other.output.contains("the IP addresses they came from"))
                let rest = try await Self.unpacked(plain)
                #expect(rest.contains("DialNumber") && rest.contains("OnVehicleData"))
                for words in ["\"900\"", "mainField1", "syncMsgVersion"] {
                    #expect(!rest.contains(words), "\(words)")
                }
                await app.close()
            }
        }
    }

    @Test("it has versions, what doctor and usb say and each app, and is private")
    func contents() async throws {
        try await Relayd.run(accessory: "sim:") { relayd in
            let app = try await relayd.connectApp()
            _ = try await app.startSession()
            // On a busy machine the observers may be seconds behind, and a report does not wait for them.
            try await relayd.process.output.first(containing: "StartServiceACK")
            let file = relayd.directory.file("report.tar.gz")
            let report = try await relayd.relayctl("bugreport", "--file", file)
            #expect(report.ending == .exited(0) && report.errors.isEmpty, "\(report.errors)")
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            let text = try await Self.unpacked(file)
            for words in [
                "versions.txt", "doctor.txt", "usb.json", "app-1.json", "messages.json",
                "journal.txt", "relayctl \(Version.current)\n",
                "relayd \(Version.current) runs (pid \(relayd.process.pid))",
                "relayd installed \(Version.current)\n", "RPC specification 8.0.0", "\nlibusb 1.",
                "\nLinux ", "✓ daemon", "\"devices\"",
                "StartService",
            ] {
                let isThere = text.contains(words)
                #expect(isThere, "\(words)")
            }
            let again = try await relayd.relayctl("bugreport", "--file", file)
            #expect(again.ending == .exited(3) && again.errors.contains("File exists"))
            await app.close()
        }
    }

    @Test("without relayd what can be had is written, and the reason with its remedy is told")
    func alone() async throws {
        try await TemporaryDirectory.run { directory in
            let file = directory.file("report.tar.gz")
            let report = try await Program.relayctl.run([
                "bugreport", "--file", file, "--socket", directory.file("nobody.sock"),
            ])
            #expect(report.ending == .exited(2))
            #expect(report.errors.contains("relayd is not running"))
            #expect(report.errors.contains("→ start it"))
            let text = try await Self.unpacked(file)
            for words in ["relayd.txt", "not asked, see relayd.txt", "✗ daemon", "usb.json"] {
                #expect(text.contains(words), "\(words)")
            }
        }
    }

    @Test("of an instance the journal of its own unit is asked for")
    func instance() async throws {
        try await TemporaryDirectory.run { directory in
            // Prints what it was asked for, where the real one would print what it found.
            let journalctl = try directory.write(
                "#!/bin/sh\necho \"asked: $*\"\n", to: "journalctl")
            chmod(journalctl, 0o755)
            var environment = Program.environment()
            environment["PATH"] = "\(directory.path):\(environment["PATH"] ?? "/usr/bin:/bin")"
            let file = directory.file("report.tar.gz")
            let report = try await ChildProcess.run(
                Program.relayctl.path(),
                ["bugreport", "--file", file, "--socket", "/run/relayd-nobodys/relayd.sock"],
                environment: environment)
            #expect(report.ending == .exited(2))
            let text = try await Self.unpacked(file)
            #expect(text.contains("asked: -u relayd@nobodys.service "), "\(text)")
        }
    }
}
