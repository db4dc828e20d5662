/// What an option accepts, as data: for code that describes the configuration instead of reading
/// it, such as the JSON Schema in config/relayd.schema.json. Each `ConfigReader` has one.
package indirect enum ConfigShape: Sendable, Equatable {
    case flag
    case count(ClosedRange<Int>)
    /// A size, as a number of bytes or with a unit.
    case bytes(ClosedRange<Int>)
    case duration(ClosedRange<Duration>)
    case choice([String])
    case text(TextForm)
    /// - Parameter mayBeOne: a single element may be written without a list.
    case list(of: ConfigShape, mayBeEmpty: Bool, mayBeOne: Bool)

    /// The form of a free text.
    package enum TextForm: Sendable, CaseIterable {
        /// A head unit's address.
        case accessory
        /// `HOST:PORT`.
        case listenAddress
        /// A range of addresses in CIDR notation.
        case network
        /// An identifier of a CAN message, or a range of them.
        case identifiers
        /// A place where clients of a vehicle interface connect, and what they receive there.
        case endpoint
        /// A network, and what its clients may write to the vehicle.
        case vehicleWrites
        /// An absolute path, or empty.
        case file
        /// `auto`, an absolute path, or empty.
        case fileOrAuto
        /// Any text but the empty one.
        case name
        /// A filter for messages.
        case filter
        /// An RPC's name, with or without a leading "!".
        case functionName
        /// An event that makes the flight recorder write a file.
        case saveTrigger
        /// A group's name or number.
        case group
        /// `auto` or an absolute path.
        case socketPath
        /// Permission bits in octal.
        case fileMode
    }
}
