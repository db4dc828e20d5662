// relayctl vi as it is built, with a relayd that shares a vehicle interface.

import ControlAPI
import Foundation
import Glibc
import NIOCore
import RelayTesting
import Synchronization
import Testing

@Suite("relayctl vi", .serialized)
struct VehicleCommandTests {
    @Test("latest values, frames, answers and clients are shown, as text and as JSON")
    func shows() async throws {
        try await VehicleBench.run { bench in
            try await bench.isBusy()
            for (arguments, words) in [
                ([], "vehicle_speed"), (["latest"], "OpenXC FORDBOARD 8.2.1 (fake), connected"),
                (["latest", "vehicle_speed"], "42.5 km/h"), (["latest", "door_status"], "driver"),
                (["can"], "0x12345678"), (["can", "--id", "0x4d2"], "0x12345678"),
                (["can", "--bus", "2"], "no such CAN frame has come"),
                (["diag"], "engine speed"), (["clients"], "for client #1"),
            ] {
                let text = try await bench.relayctl(["vi"] + arguments)
                #expect(text.ending == .exited(0), "\(arguments): \(text.errors)")
                #expect(text.output.contains(words), "\(arguments): \(text.output)")
                let json = try await bench.relayctl(["vi"] + arguments + ["--json"])
                #expect(json.ending == .exited(0), "\(arguments): \(json.errors)")
                let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8))
                #expect((object as? [String: Any])?["schema"] as? Int == 1, "\(arguments)")
            }
            let unknown = try await bench.relayctl(["vi", "latest", "vehicle_sped"])
            #expect(unknown.ending == .exited(1))
            #expect(unknown.errors.contains("did you mean \"vehicle_speed\"?"))
        }
    }

    @Test("what passes is shown with who says it, by kind and name, and as it came")
    func tail() async throws {
        try await VehicleBench.run { bench in
            let speed = #"{"timestamp":1364326000123,"name":"vehicle_speed","value":42.5}"#
            try await bench.says(speed, #"{"name":"odometer","value":7}"#)
            try await bench.until("both are known") { $0.measurements.count == 2 }
            func tail(_ arguments: String...) async throws -> [String] {
                let done = try await bench.relayctl(["vi", "tail", "--once"] + arguments)
                #expect(done.ending == .exited(0), "\(done.errors)")
                return done.output.split(separator: "\n").map(String.init)
            }
            let all = try await tail("-n", "100")
            #expect(
                all.contains { $0.hasSuffix("  version") }
                    && all.last?.hasSuffix("odometer 7 km") == true)
            let one = try await tail("vehicle_speed", "--raw")
            #expect(one.count == 2 && one[0].hasSuffix("  vehicle_speed 42.5 km/h"), "\(one)")
            #expect(
                one[1].trimmingCharacters(in: .whitespaces)
                    == speed + "  at 1364326000123 ms by its clock")
            let asked = try await tail("--kind", "command", "--json")
            #expect(
                asked.count >= 2
                    && asked.dropFirst().allSatisfy { $0.contains(#""kind":"command""#) })
            #expect(!asked.contains { $0.contains(#""raw""#) })
            let following = try await Program.relayctl.start(
                ["vi", "tail", "-n", "0", "odometer", "--json", "--raw"],
                environment: bench.environment)
            try await following.output.first(containing: "instance")
            try await bench.says(#"{"name":"odometer","value":8}"#)
            let line = try await following.output.first(containing: #""value":8"#)
            #expect(line.contains(#""raw":"{\"name\":\"odometer\",\"value\":8}""#), "\(line)")
            following.signal(SIGTERM)
            _ = try await following.ended()
        }
    }

    @Test("what the vehicle interface is, is asked of it")
    func identity() async throws {
        try await VehicleBench.run { bench in
            for (word, name, answer) in [
                ("version", "version", "8.2.1 (fake)"), ("device-id", "device_id", "001122334455"),
                ("platform", "platform", "FORDBOARD"), ("vin", "get_vin", "1FTFW1ET1DFC10312"),
            ] {
                let done = try await bench.during(.command(name, answer)) {
                    try await bench.relayctl(["vi", word])
                }
                #expect(done.output == answer)
                #expect(done.ending == .exited(0))
            }
            let late = try await bench.during(
                .init(
                    #"{"command":"get_vin"}"#,
                    #"{"command_response":"get_vin","message":"timed out","status":false}"#)
            ) { try await bench.relayctl(["vi", "vin"]) }
            #expect(late.output == "refused: timed out")
            #expect(late.ending == .exited(1))
            let silent = try await bench.during(.init(#"{"command":"device_id"}"#)) {
                try await bench.relayctl(["vi", "device-id"])
            }
            #expect(silent.ending == .exited(3))
            #expect(silent.errors.contains("has not answered device_id in time"))
        }
    }

    @Test("a recording in the form of OpenXC's tools is played back as it was")
    func recorded() async throws {
        let said = [
            #"{"name":"vehicle_speed","value":42.5}"#,
            #"{"name":"door_status","value":"driver","event":true}"#,
            #"{"bus":1,"id":1234,"data":"0x12345678"}"#,
            #"{"bus":1,"id":2016,"mode":1,"success":true,"pid":12,"value":772}"#,
            #"{"bus":1,"id":2016,"mode":3,"success":false,"pid":0,"negative_response_code":17}"#,
            #"{"name":"last","value":true}"#,
        ]
        let lines = try await Self.record(said)
        let objects = try lines.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(objects.count == said.count)
        let now = Date().timeIntervalSince1970
        for object in objects {
            let time = try #require(object["timestamp"] as? Double)
            #expect(time > now - 3600 && time <= now + 1)
        }
        // Replayed to a client, it is what was said, each message with its time in milliseconds.
        try await TemporaryDirectory.run { directory in
            let file = try directory.write(lines.joined(separator: "\n"), to: "drive.json")
            let config = "openxc:\n  listen: 127.0.0.1:0\n"
            try await Relayd.run(accessory: "replay:\(file)?interval=50ms&loop=on", config: config)
            { relayd in
                let client = try await relayd.connectApp()
                // Two rounds contain a whole one from the first message on: a client may come in the middle.
                var rounds: [String] = []
                var message = ""
                while rounds.count < said.count * 2 {
                    let text = String(buffer: try await client.next(bytes: 1))
                    guard text == "\0" else {
                        message += text
                        continue
                    }
                    rounds.append(message.replacing(#/"timestamp":\d{13},/#, with: ""))
                    message = ""
                }
                let first = try #require(rounds.firstIndex(of: said[0]))
                let heard = Array(rounds[first...].prefix(said.count))
                #expect(heard == said)
            }
        }
    }

    @Test("a recording for the iOS framework has its times in milliseconds")
    func recordedInMilliseconds() async throws {
        let said = [#"{"name":"vehicle_speed","value":42.5}"#, #"{"name":"last","value":true}"#]
        let lines = try await Self.record(said, format: "openxc-ms")
        #expect(lines.count == said.count)
        let now = Date().timeIntervalSince1970 * 1000
        for (line, message) in zip(lines, said) {
            // A whole number: the framework takes nothing else.
            let time = try #require(line.firstMatch(of: #/"timestamp":(\d{13})[,}]/#))
            let milliseconds = try #require(Double(time.1))
            #expect(milliseconds > now - 3_600_000 && milliseconds <= now + 1000)
            let members = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let wanted = try JSONSerialization.jsonObject(with: Data(message.utf8))
            var object = try #require(members as? [String: Any])
            object["timestamp"] = nil
            #expect(object as NSDictionary == wanted as? NSDictionary)
        }
    }

    /// What `relayctl record` writes for these messages.
    private static func record(
        _ said: [String], format: String = "openxc"
    ) async throws -> [String] {
        var lines: [String] = []
        try await VehicleBench.run { bench in
            let recording = try await Program.relayctl.start(
                ["record", "--format", format], environment: bench.environment)
            // The recording gets only what comes once it has begun.
            let isThere = Mutex(false)
            async let beginning: Void = {
                _ = try await recording.output.first(containing: "beginning")
                isThere.withLock { $0 = true }
            }()
            while !isThere.withLock({ $0 }) {
                try await bench.says(#"{"name":"beginning","value":1}"#)
                _ = try await bench.report()
            }
            try await beginning
            try await bench.says(said)
            lines = try await recording.output.wait(for: "all of it") { all in
                // What relayd has asked about the interface may be answered only now.
                let mine = all.filter {
                    !$0.contains("beginning") && !$0.contains("command_response")
                }
                return mine.count >= said.count ? mine : nil
            }
            recording.signal(SIGINT)
            _ = try await recording.ended()
        }
        return lines
    }

    @Test("a module is asked once, and again and again until the command is killed")
    func diagnostics() async throws {
        try await VehicleBench.run { bench in
            let answer = #"{"bus":1,"id":2016,"mode":1,"success":true,"pid":12,"value":772}"#
            let arguments = ["vi", "diag", "0x7e0", "1", "0x0c", "--bus", "1"]
            let once = try await bench.during(.diagnostic("add", pid: 12, answer)) {
                try await bench.relayctl(arguments)
            }
            #expect(once.output.contains("(engine speed)  772 rpm"))
            let nobody = try await bench.during(.diagnostic("add", pid: 12)) {
                try await bench.relayctl(arguments + ["--wait", "0.01"])
            }
            #expect(nobody.output.hasPrefix("no module has answered"))
            #expect(nobody.ending == .exited(1))
            let repeated = try await Program.relayctl.start(
                arguments + ["--frequency", "2"], environment: bench.environment)
            let added = VehicleBench.Exchange.diagnostic("add", pid: 12, frequency: 2, answer)
            try await bench.hears(added.heard)
            try await bench.says(added.said)
            try await repeated.output.first(containing: "772 rpm")
            repeated.signal(SIGKILL)
            try await bench.hears(
                VehicleBench.Exchange.diagnostic("cancel", pid: 12, frequency: 2).heard)
            _ = try await repeated.ended()
        }
    }

    @Test("what the vehicle interface refuses ends with 1, however it was asked")
    func refused() async throws {
        try await VehicleBench.run { bench in
            let passthrough = try await bench.during(
                .init(
                    #"{"command":"passthrough","bus":9,"enabled":true}"#,
                    #"{"command_response":"passthrough","message":"","status":false}"#)
            ) { try await bench.relayctl(["vi", "can", "--bus", "9", "--passthrough"]) }
            #expect(passthrough.ending == .exited(1))
            #expect(
                passthrough.errors == "relayctl: the vehicle interface refuses passthrough bus 9 on"
            )
            let no = #"{"command_response":"diagnostic_request","message":"","status":false}"#
            let once = try await bench.during(.init(Self.request(""), no)) {
                try await bench.relayctl(["vi", "diag", "0x7e0", "1", "1", "--bus", "9"])
            }
            #expect(once.ending == .exited(1), "\(once.output)\(once.errors)")
            let repeated = try await bench.during(.init(Self.request(#","frequency":1"#), no)) {
                try await bench.relayctl(
                    ["vi", "diag", "0x7e0", "1", "1", "--bus", "9", "--frequency", "1"])
            }
            #expect(repeated.ending == .exited(1), "\(repeated.output)\(repeated.errors)")
        }
    }

    private static func request(_ more: String) -> String {
        #"{"command":"diagnostic_request","action":"add","request":{"bus":9,"id":2016,"mode":1,"#
            + #""pid":1\#(more)}}"#
    }

    @Test(
        "a command line that cannot be meant ends with 64, and nothing is asked",
        arguments: [
            ("diag 0x7e0 0", "<mode> is 0; expected 1 to 255"),
            ("diag 0 1 1", "<id> is 0; expected 1 to 536870911"),
            ("diag 0x7e0 1 0x10000", "<pid> is 65536; expected 0 to 65535"),
            ("diag 0x7e0 1 --bus 0", "--bus is 0; expected 1 to 2147483647"),
            ("diag 0x7e0 1 --payload zz", "--payload is \"zz\"; expected at most 8 bytes"),
            ("diag 0x7e0 1 --payload 010203040506070809 --frequency 1", "at most 8 bytes"),
            ("tail --kind speed", "--kind is speed; expected one of measurement"),
            ("tail -n 5000", "-n is 5000; expected 0 to 4096"), ("tail --id x", "--id is x"),
            ("tail --id 0x100000000", "--id is 0x100000000"), ("write horn= --yes", "has no value"),
            ("can --bus 0 --passthrough", "--bus is 0"), ("can --id x", "--id is x"),
            ("write --id 0x20000000 --data 01 --yes", "--id is 536870912; expected 1 to"),
            ("write --id 1 --data 0 --yes", "--data is \"0\""),
            ("write --id 1 --data 01 --bus 0 --yes", "--bus is 0"),
            ("write --id 1 --data 01 --frame-format long --yes", "expected standard or extended"),
        ])
    func misunderstood(line: String, words: String) async throws {
        // Without relayd: it is not asked.
        let done = try await Program.relayctl.run(
            ["vi"] + line.split(separator: " ").map(String.init),
            environment: [ControlSocket.environmentVariable: "/nonexistent/relayd.sock"])
        #expect(done.ending == .exited(64), "\(done.output)\(done.errors)")
        #expect(done.errors.contains(words), "\(done.errors)")
    }

    @Test("a bus is passed through as long as somebody looks at it")
    func can() async throws {
        try await VehicleBench.run { bench in
            let watching = try await Program.relayctl.start(
                ["vi", "can", "--bus", "1", "--passthrough", "--json"],
                environment: bench.environment)
            try await bench.hears(#"{"command":"passthrough","bus":1,"enabled":true}"#)
            try await bench.says(
                #"{"command_response":"passthrough","message":"","status":true}"#,
                #"{"bus":2,"id":7,"data":"0x02"}"#, #"{"bus":1,"id":7,"data":"0x01"}"#)
            let line = try await watching.output.first(containing: #""kind":"can""#)
            #expect(line.contains(#""data":"0x01""#))
            watching.signal(SIGTERM)
            try await bench.hears(#"{"command":"passthrough","bus":1,"enabled":false}"#)
            _ = try await watching.ended()
        }
    }

    @Test("a write is asked about, allowed, and logged")
    func write() async throws {
        let config = "openxc:\n  listen: 127.0.0.1:0\n  writes: [\"127.0.0.1 name:horn\"]\n"
        try await VehicleBench.run(config) { bench in
            let unsure = try await bench.relayctl(["vi", "write", "horn=true"])
            #expect(unsure.ending == .exited(64))
            #expect(unsure.errors.contains("give --yes to write anyway"))
            let refused = try await bench.relayctl(
                ["vi", "write", "--id", "0x7e0", "--data", "0201", "--yes"])
            #expect(refused.ending == .exited(3))
            #expect(refused.errors.contains("may not be written to the vehicle"))
            let written = try await bench.relayctl(["vi", "write", "horn=true", "--yes"])
            #expect(written.ending == .exited(0), "\(written.errors)")
            #expect(written.output.hasPrefix("horn true was sent to the vehicle interface"))
            try await bench.hears(#"{"name":"horn","value":true}"#)
            try await bench.relayd.process.errors.first(
                containing: #"written to the vehicle: {"name":"horn","value":true}"#)
        }
    }

    @Test("a watch that nobody looks at writes what comes, line by line")
    func watch() async throws {
        try await VehicleBench.run { bench in
            let watching = try await Program.relayctl.start(
                ["vi", "watch", "--interval", "0.1"], environment: bench.environment)
            try await bench.says(#"{"name":"vehicle_speed","value":42.5}"#)
            try await watching.output.first(containing: "vehicle_speed  42.5 km/h")
            // Silent, and then there again.
            try await bench.says(#"{"name":"vehicle_speed","value":43}"#)
            try await watching.output.first(containing: "vehicle_speed  43 km/h")
            watching.signal(SIGTERM)
            _ = try await watching.ended()
        }
    }
}

extension VehicleBench {
    var environment: [String: String] {
        Program.environment([ControlSocket.environmentVariable: relayd.controlSocket])
    }

    func relayctl(_ arguments: [String]) async throws -> ChildProcess.Finished {
        try await Program.relayctl.run(
            arguments, environment: [ControlSocket.environmentVariable: relayd.controlSocket])
    }
}
