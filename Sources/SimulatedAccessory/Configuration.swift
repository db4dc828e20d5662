// The options of the simulated head unit, set in code or in the address `sim:?option=value`.

package import SDLProtocol

extension SimulatedAccessory {
    /// How the simulated head unit behaves; every default is what a common head unit does.
    package struct Configuration: Hashable, Sendable {
        /// Highest protocol version spoken. 5.4.0 is what sdl_core 8.2.0 speaks.
        package var protocolVersion = SDLVersion(5, 4, 0)
        /// The `mtu` of StartServiceACK in bytes; sdl_core ships with 131,072.
        package var mtu: Int64 = 131_072
        /// Time from registration to HMI level FULL, in place of a user who picks the app; nil: never.
        package var activationDelay: Duration? = .milliseconds(100)
        /// Time between two OnVehicleData to a subscriber; nil: values can be read, but none are sent.
        package var vehicleDataInterval: Duration? = .seconds(1)
        /// Accepts what the RPC specification or the state of the session forbids, and picks for the user at once:
        /// the first choice, the slider's position.
        package var isLenient = false
        /// Vehicle maker and model, as apps see them.
        package var make = "relayd"
        package var model = "Simulated head unit"

        package init() {}
    }

    /// Why an option of the address cannot be used, and what can be used instead.
    package struct OptionError: Error, Hashable, Sendable, CustomStringConvertible {
        package var message: String
        package var description: String { message }
    }
}

extension SimulatedAccessory.Configuration {
    /// `mtu` must have room for the largest control frame, which cannot be split, and is at most what sdl_core
    /// allows.
    static let mtuRange: ClosedRange<Int64> = 512...131_072
    /// Shorter intervals are a load test, longer ones look like a head unit that hangs.
    static let intervalRange: ClosedRange<Duration> = .milliseconds(10)...(.seconds(3600))

    private typealias OptionError = SimulatedAccessory.OptionError
    private typealias Setter =
        @Sendable (inout Self, String) throws(SimulatedAccessory.OptionError) -> Void

    /// Reads the options of `sim:?protocol=4&mtu=65536&activate=off&vehicle-data=1s`.
    ///
    /// - Throws: What was found, what was expected and what to type instead.
    package init(options: [String: String]) throws(SimulatedAccessory.OptionError) {
        self.init()
        // In alphabetical order, so that the same mistake gives the same message.
        for name in options.keys.sorted() {
            guard let setter = Self.options[name] else {
                let known = Self.options.keys.sorted().joined(separator: ", ")
                throw OptionError(message: "unknown option \"\(name)\" of sim:; known: \(known)")
            }
            try setter(&self, options[name] ?? "")
        }
    }

    private static let options: [String: Setter] = [
        "protocol": { (configuration, text) throws(OptionError) in
            guard let version = SDLVersion(text: text), (1...5).contains(version.major) else {
                throw invalid("protocol", text, expected: "1 to 5, or a full version like 5.4.0")
            }
            // A bare 5 means the newest 5.x that is spoken.
            configuration.protocolVersion = text == "5" ? SDLVersion(5, 4, 0) : version
        },
        "mtu": { (configuration, text) throws(OptionError) in
            guard let mtu = Int64(text), mtuRange.contains(mtu) else {
                throw invalid(
                    "mtu", text, expected: "\(mtuRange.lowerBound) to \(mtuRange.upperBound) bytes")
            }
            configuration.mtu = mtu
        },
        "activate": { (configuration, text) throws(OptionError) in
            switch text {
            case "off": configuration.activationDelay = nil
            case "on": configuration.activationDelay = Self().activationDelay
            default:
                guard let delay = Duration(option: text), delay <= intervalRange.upperBound else {
                    throw invalid("activate", text, expected: "on, off, or a delay like 100ms")
                }
                configuration.activationDelay = delay
            }
        },
        "vehicle-data": { (configuration, text) throws(OptionError) in
            switch text {
            case "off": configuration.vehicleDataInterval = nil
            case "on": configuration.vehicleDataInterval = Self().vehicleDataInterval
            default:
                guard let interval = Duration(option: text), intervalRange.contains(interval)
                else {
                    throw invalid(
                        "vehicle-data", text,
                        expected: "on, off, or an interval from 10ms to 3600s, like 1s")
                }
                configuration.vehicleDataInterval = interval
            }
        },
        "lenient": { (configuration, text) throws(OptionError) in
            guard text == "on" || text == "off" else {
                throw invalid("lenient", text, expected: "on or off")
            }
            configuration.isLenient = text == "on"
        },
        "make": { (configuration, text) throws(OptionError) in
            configuration.make = try name("make", text)
        },
        "model": { (configuration, text) throws(OptionError) in
            configuration.model = try name("model", text)
        },
    ]

    /// The most bytes of `make` and `model`: StartServiceACK has to stay below 1011 bytes, or iOS apps drop it (SDL
    /// protocol spec, "MTU").
    static let nameBytes = 100

    private static func name(
        _ option: String, _ text: String
    ) throws(SimulatedAccessory.OptionError) -> String {
        guard !text.isEmpty, text.utf8.count <= nameBytes, !text.utf8.contains(0) else {
            throw invalid(option, text, expected: "a name of 1 to \(nameBytes) bytes")
        }
        return text
    }

    private static func invalid(
        _ option: String, _ text: String, expected: String
    ) -> SimulatedAccessory.OptionError {
        OptionError(message: "option \(option) of sim: is \"\(text)\"; expected \(expected)")
    }
}

extension Duration {
    /// Reads "100ms", "1.5s" or "2s"; nil for anything else.
    fileprivate init?(option text: String) {
        let unit = text.hasSuffix("ms") ? "ms" : "s"
        guard text.hasSuffix(unit), let number = Double(text.dropLast(unit.count)),
            number.isFinite, (0...1_000_000_000).contains(number)
        else { return nil }
        self = unit == "ms" ? .milliseconds(number) : .seconds(number)
    }
}
