import RelayCore
import RelayTesting
import Testing

@testable import relayd

// Durations and sizes as text, both ways.

@Suite("Quantity")
struct ConfigQuantityTests {
    @Test(
        "durations have a unit",
        arguments: [
            ("500ms", Duration.milliseconds(500)), ("20s", .seconds(20)), ("2m", .seconds(120)),
            ("1h", .seconds(3600)), ("0s", .zero), ("7 s", .seconds(7)),
        ])
    func duration(text: String, expected: Duration) {
        #expect(Quantity.duration(text) == expected)
    }

    @Test(
        "what is no duration is refused",
        arguments: ["", "20", "s", "20 sec", "1.5s", "-1s", "+1s", "1s ", "1 s s", "٣s", "1S"])
    func noDuration(text: String) {
        #expect(Quantity.duration(text) == nil)
    }

    @Test(
        "sizes are bytes, or have a unit of 1024",
        arguments: [
            ("4096", 4096), ("1 B", 1), ("256 KiB", 262_144), ("16MiB", 16_777_216),
            ("1 GiB", 1_073_741_824),
        ])
    func bytes(text: String, expected: Int) {
        #expect(Quantity.bytes(text) == expected)
    }

    @Test(
        "what is no size is refused",
        arguments: ["", "KiB", "1 KB", "1k", "1.5 MiB", "-1", "9223372036854775807 GiB"])
    func noBytes(text: String) {
        #expect(Quantity.bytes(text) == nil)
    }

    @Test("whatever digits and units are written: a value or nil, never a trap")
    func everyQuantity() {
        var generator = SeededGenerator(seed: 7)
        let digits = Array("0123456789")
        let units = ["", "ms", "s", "m", "h", "B", "KiB", "MiB", "GiB", " ms", "-", "e9", "٣"]
        for _ in 0..<20_000 {
            let length = Int.random(in: 0...24, using: &generator)
            let number = String(
                (0..<length).compactMap { _ in digits.randomElement(using: &generator) })
            let text = number + (units.randomElement(using: &generator) ?? "")
            if let duration = Quantity.duration(text) {
                let back = Quantity.text(duration)
                #expect(duration >= .zero && !back.isEmpty, "\(text)")
            }
            if let bytes = Quantity.bytes(text) {
                #expect(bytes >= 0 && Quantity.bytes(Quantity.text(bytes: bytes)) == bytes)
            }
        }
        for seconds in [Int64.min, -1, 0, 1, .max] {
            #expect(
                !Quantity.text(Duration(secondsComponent: seconds, attosecondsComponent: 0)).isEmpty
            )
        }
    }

    @Test(
        "every number of the schema is refused outside its range, whatever it is",
        arguments: [
            "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e400", "nan",
            "-0", "+1", "+100",
            "9223372036854775807h", "9223372036854775807 GiB", "-1s", ".inf", "0x7fffffffffffffff",
            "99999999999999999999999999999999999999999999999999",
        ])
    func hugeValues(text: String) {
        for option in ConfigSchema().options {
            var config = Config()
            var problems: [ConfigProblem] = []
            let value = ConfigValue(.scalar(text, quoted: false), at: .flag("--x"))
            option.apply(value, &config, &problems)
            // Some options take any text; none may take it as a number.
            #expect(!problems.isEmpty || option.text(config) == text, "\(option.path)")
        }
    }

    @Test("text and value are each other's inverse")
    func roundTrip() {
        for text in ["500ms", "20s", "2m", "1h", "1500ms", "90s"] {
            #expect(Quantity.duration(text).map(Quantity.text) == text)
        }
        for text in ["4095", "4 KiB", "16 MiB", "1 GiB", "0"] {
            #expect(Quantity.bytes(text).map { Quantity.text(bytes: $0) } == text)
        }
    }

    @Test(
        "listening addresses are written as they are read",
        arguments: ["127.0.0.1:2776", "[::1]:2776", "[fe80::1%eth0]:0", "bench.local:65535"])
    func listenAddress(text: String) throws {
        #expect(try ListenAddress(parsing: text).description == text)
    }
}
