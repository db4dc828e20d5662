// The options of the simulated vehicle interface, set in code or in the address `sim:openxc?option=value`.

package import OpenXCProtocol

extension SimulatedVehicle {
    /// How the vehicle interface behaves. The default is what firmware 8.2.1 does, including its bad habits.
    package struct Configuration: Hashable, Sendable {
        /// The payload format when power is switched on.
        package var format = PayloadFormat.json
        /// Speed of the drive and of all that it sends; the times of answers stay as they are.
        package var speed = 1.0
        /// Nil for a vehicle that does not report it.
        package var vin: String? = "1ZVBP8CH7A5123456"
        package var version = "8.2.1 (simulated)"
        package var platform = "FORDBOARD"
        package var deviceID = "0012F3000001"
        package var habits = Habits()

        package init() {}
    }

    /// Unexpected behaviour of the firmware.
    package struct Habits: Hashable, Sendable {
        /// Bytes after which a message is cut, including its end; nil never.
        package var truncation: Int? = 340
        /// `version2` is taken for `version`.
        package var comparesPrefixes = true
        /// Unknown commands get no answer.
        package var ignoresUnknown = true
        /// How long the vehicle takes to report its VIN, the first time.
        package var vinDelay = Duration.milliseconds(400)
        /// Long diagnostic answers come in pieces, as since 8.1; earlier firmware sent one message.
        package var sendsSegments = true

        package init() {}
    }

    /// Why an option of the address cannot be used, and what can be used instead.
    package struct OptionError: Error, Hashable, Sendable, CustomStringConvertible {
        package var message: String
        package var description: String { message }
    }
}

extension SimulatedVehicle.Configuration {
    private typealias OptionError = SimulatedVehicle.OptionError
    private typealias Setter =
        @Sendable (inout Self, String) throws(SimulatedVehicle.OptionError) -> Void

    package static let speeds = 0.1...100.0
    /// A lower limit does not hold a measurement; no firmware sends more than the upper one.
    static let truncations = 64...4096
    static let longestDelay = Duration.seconds(60)
    /// The most bytes of a text in a response: the firmware's buffer less one.
    static let textBytes = 127

    /// Reads the options of `sim:openxc?format=protobuf&speed=2`.
    ///
    /// - Throws: What was found and what was expected.
    package init(options: [String: String]) throws(SimulatedVehicle.OptionError) {
        self.init()
        // In alphabetical order, so that the same mistake gives the same message.
        for name in options.keys.sorted() {
            guard let setter = Self.options[name] else {
                throw OptionError(
                    message: "unknown option \"\(name)\" of sim:openxc; known: "
                        + Self.optionNames.joined(separator: ", "))
            }
            try setter(&self, options[name] ?? "")
        }
    }

    package static var optionNames: [String] { options.keys.sorted() }

    private static let options: [String: Setter] = [
        "format": { (configuration, text) throws(OptionError) in
            guard let format = PayloadFormat(rawValue: text) else {
                throw invalid("format", text, expected: "json or protobuf")
            }
            configuration.format = format
        },
        "speed": { (configuration, text) throws(OptionError) in
            guard let speed = Double(text), speeds.contains(speed) else {
                throw invalid("speed", text, expected: "a number between 0.1 and 100")
            }
            configuration.speed = speed
        },
        "vin": { (configuration, text) throws(OptionError) in
            if text == "off" {
                configuration.vin = nil
                return
            }
            guard text.utf8.count == 17, text.utf8.allSatisfy(isLetterOrDigit) else {
                throw invalid("vin", text, expected: "17 letters and digits, or off")
            }
            configuration.vin = text
        },
        "version": { (configuration, text) throws(OptionError) in
            configuration.version = try textOption("version", text)
        },
        "platform": { (configuration, text) throws(OptionError) in
            configuration.platform = try textOption("platform", text)
        },
        "device-id": { (configuration, text) throws(OptionError) in
            configuration.deviceID = text.isEmpty ? "" : try textOption("device-id", text)
        },
        "truncate": { (configuration, text) throws(OptionError) in
            if text == "off" {
                configuration.habits.truncation = nil
                return
            }
            guard let bytes = Int(text), truncations.contains(bytes) else {
                throw invalid(
                    "truncate", text,
                    expected: "off, or \(truncations.lowerBound) to \(truncations.upperBound) bytes"
                )
            }
            configuration.habits.truncation = bytes
        },
        "prefix": { (configuration, text) throws(OptionError) in
            configuration.habits.comparesPrefixes = try flag("prefix", text)
        },
        "answer-unknown": { (configuration, text) throws(OptionError) in
            configuration.habits.ignoresUnknown = !(try flag("answer-unknown", text))
        },
        "vin-delay": { (configuration, text) throws(OptionError) in
            guard text.hasSuffix("ms"), let milliseconds = Int64(text.dropLast(2)),
                milliseconds >= 0, .milliseconds(milliseconds) <= longestDelay
            else {
                throw invalid("vin-delay", text, expected: "a time up to 60000ms, like 400ms")
            }
            configuration.habits.vinDelay = .milliseconds(milliseconds)
        },
        "segments": { (configuration, text) throws(OptionError) in
            configuration.habits.sendsSegments = try flag("segments", text)
        },
    ]

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func flag(
        _ name: String, _ text: String
    ) throws(SimulatedVehicle.OptionError) -> Bool {
        switch text {
        case "on": return true
        case "off": return false
        default: throw invalid(name, text, expected: "on or off")
        }
    }

    private static func textOption(
        _ name: String, _ text: String
    ) throws(SimulatedVehicle.OptionError) -> String {
        guard (1...textBytes).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) })
        else {
            throw invalid(name, text, expected: "1 to \(textBytes) printable ASCII characters")
        }
        return text
    }

    private static func invalid(
        _ option: String, _ text: String, expected: String
    ) -> SimulatedVehicle.OptionError {
        OptionError(message: "option \(option) of sim:openxc is \"\(text)\"; expected \(expected)")
    }
}
