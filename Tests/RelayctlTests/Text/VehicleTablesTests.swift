// The output of relayctl vi for a vehicle interface.

import ControlAPI
import Testing

@testable import relayctl

@Suite("Tables of a vehicle interface")
struct VehicleTablesTests {
    private static let now = Timestamp(millisecondsSince1970: 1_800_000_000_000)

    private static func at(_ milliseconds: Int64) -> Timestamp {
        Timestamp(millisecondsSince1970: now.millisecondsSince1970 - milliseconds)
    }

    private static var report: VehicleReport {
        VehicleReport(
            interface: VehicleInterface(
                connected: true, address: "openxc+tcp:h:1", version: "8.2.1 (default)",
                platform: "FORDBOARD", format: "json", messages: 3, messagesPerSecond: 12.34),
            measurements: [
                VehicleMeasurement(
                    name: "door_status", value: .text("driver"), event: .flag(true), at: at(75_000),
                    count: 1, perSecond: 0),
                VehicleMeasurement(
                    name: "vehicle_speed", value: .number(42.123456), unit: "km/h", at: at(250),
                    count: 2, perSecond: 10, history: [0, 10, 20, 40]),
            ],
            limits: [VehicleLimit(name: .signals, limit: 1024, leftOut: 7)])
    }

    private static func tables(_ width: Int = 100) -> VehicleTables {
        VehicleTables(width: width, style: .plain, now: now)
    }

    @Test("a row for each signal: value with unit, age, rate and sparkline") func latest() {
        #expect(
            Self.tables().latest(Self.report) == """
                OpenXC FORDBOARD 8.2.1 (default), connected, json, 12.3 messages/s, 0 clients
                  7 left out (signals: 1024)

                  Signal                     Value     Age  Per second  Last minute
                  door_status driver          true   1 min         0.0
                  vehicle_speed        42.123 km/h   0.2 s        10.0  ▁▃▅█

                """)
    }

    @Test("a narrow terminal loses what matters least, and no line is too wide")
    func narrow() {
        let text = Self.tables(40).measurements(Self.report.measurements)
        #expect(text.contains("vehicle_speed"))
        #expect(!text.contains("Last minute"))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 40 })
    }

    @Test("a sparkline is between least and greatest, level when there is no difference")
    func sparkline() {
        #expect(VehicleTables.sparkline([]) == "")
        #expect(VehicleTables.sparkline([5, 5, 5]) == "▁▁▁")
        #expect(VehicleTables.sparkline([0, 7]) == "▁█")
        #expect(VehicleTables.sparkline((0..<60).map(Double.init)).count == 20)
        #expect(VehicleTables.sparkline([-1e308, 1e308]) == "▁▁")
    }

    @Test("names and texts of a vehicle interface do nothing to a terminal") func harmless() {
        var report = Self.report
        report.measurements[0].name = "\u{1B}[2Jdoor"
        report.measurements[0].value = .text("a\nb")
        report.interface.version = "\u{9B}31m8"
        report.clients = [
            VehicleClient(
                id: 1, peer: "127.0.0.1:5", connectedAt: Self.now, format: "json",
                problem: "\u{1B}[2J bad")
        ]
        for text in [Self.tables().latest(report), Self.tables().clients(report)] {
            #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 })
            #expect(!text.unicodeScalars.contains("\u{9B}"))
        }
    }

    @Test("clients with their form, queue and losses, and what is repeated for whom") func clients()
    {
        var report = Self.report
        report.clients = [
            VehicleClient(
                id: 3, peer: "127.0.0.1:5", connectedAt: Self.now, format: "protobuf",
                subscription: VehicleSubscription(names: ["odometer"], rate: 5), messagesOut: 17,
                queueBytes: 2048, queueLimit: 262_144, lost: 4,
                problem: "reads too slowly: 4 messages lost")
        ]
        report.requests = [
            VehicleRequest(
                bus: 1, id: 2016, mode: 1, pid: 12, frequency: 2, parameter: "engine speed",
                clients: [3], api: 1)
        ]
        let text = Self.tables(140).clients(report)
        for words in [
            "odometer, at most 5/s", "2.0 KiB of 256.0 KiB",
            "#3: reads too slowly: 4 messages lost",
            "repeated:  bus 1  0x7e0  mode 0x01  pid 0x0c (engine speed)  2/s for client #3, "
                + "1 request of the control API",
        ] { #expect(text.contains(words), "\(text)") }
    }

    @Test("answers of modules: decoded, refused, none, and a request that is refused")
    func answers() {
        let answers = [
            VehicleDiagnostic(
                bus: 1, id: 2024, mode: 1, pid: 12, success: true, payload: "0x1af8",
                parameter: "engine speed", decoded: 1726, unit: "rpm", at: Self.now),
            VehicleDiagnostic(
                bus: 1, id: 2025, mode: 1, pid: 12, success: false, negativeResponseCode: 18,
                reason: "sub-function not supported", at: Self.now),
        ]
        func text(_ status: Bool?, _ answers: [VehicleDiagnostic]) -> String {
            Self.tables().answers(
                VehicleDiagnosticReport(
                    status: status, message: "too many", answers: answers, milliseconds: 1000))
        }
        #expect(
            text(true, answers) == """
                bus 1  0x7e8  mode 0x01  pid 0x0c (engine speed)  1726 rpm  payload 0x1af8
                bus 1  0x7e9  mode 0x01  pid 0x0c  refused 0x12 sub-function not supported

                """)
        #expect(text(true, []) == "no module has answered in 1000 ms\n")
        #expect(text(false, []) == "the vehicle interface refuses the request: too many\n")
    }

    @Test("a watch that nobody looks at writes a line for each signal that has come again")
    func watchLines() {
        var report = Self.report
        var watch = VehicleWatch(names: ["vehicle_speed"], style: .plain)
        let line = "07:59:59.750  vehicle_speed  42.123 km/h  10.0/s\n"
        #expect(watch.lines(report, zone: .utc) == line)
        #expect(watch.lines(report, zone: .utc) == "")
        report.measurements[1].count += 1
        #expect(watch.lines(report, zone: .utc) == line)
    }

    @Test("a screen that is too small says how much is hidden") func smallScreen() {
        let watch = VehicleWatch(names: [], style: .plain)
        let text = watch.inPlace(Self.report, size: (100, 5), now: Self.now)
        #expect(text.hasPrefix("\u{1B}[H"))
        #expect(text.contains("… 3 more"))
        #expect(text.count { $0 == "\n" } == 4)
        // Each row stays on one line; otherwise the screen would scroll.
        for columns in [20, 40, 80] {
            let text = watch.inPlace(Self.report, size: (columns, 5), now: Self.now)
            let last = text.split(separator: "\n").dropLast().last?.dropLast("\u{1B}[K".count)
            #expect(last?.contains("more") == true && last?.count ?? 0 <= columns)
        }
    }

    @Test("a line says who said it to whom, but for what the vehicle says to all")
    func parties() {
        func line(
            _ kind: VehicleMessageKind, _ from: VehicleParty, _ to: VehicleParty, client: Int? = nil
        ) -> String {
            var message = VehicleMessageReport(
                n: 1, at: Self.now, kind: kind, from: from, to: to, text: "words")
            message.client = client
            return String(VehicleTables.line(message).dropFirst("10:31:07.000  ".count))
        }
        #expect(line(.measurement, .vehicle, .all) == "words")
        #expect(line(.command, .client, .vehicle, client: 2) == "#2 → vehicle  words")
        #expect(line(.response, .vehicle, .client, client: 2) == "vehicle → #2  words")
        #expect(line(.response, .relayd, .api) == "relayd → control API  words")
        #expect(line(.command, .relayd, .vehicle) == "relayd → vehicle  words")
        #expect(line(.link, .relayd, .nobody) == "words")
    }

    @Test(
        "numbers are written as programs write them",
        arguments: [
            ("0x7e0", 2016), ("2016", 2016), ("0X1f", 31), ("-1", nil), ("+1", nil), ("0x", nil),
            ("0x-1", nil), ("7e0", nil), ("", nil), ("99999999999999999999", nil),
        ] as [(String, Int?)])
    func numbers(text: String, value: Int?) {
        #expect(WrittenNumber(argument: text)?.value == value)
    }

    @Test("what is written is true, false, a number or a text") func scalars() {
        #expect(VehicleWriteCommand.scalar("true") == .flag(true))
        #expect(VehicleWriteCommand.scalar("1.5") == .number(1.5))
        #expect(VehicleWriteCommand.scalar("nan") == .text("nan"))
        #expect(VehicleWriteCommand.scalar("driver") == .text("driver"))
    }
}
