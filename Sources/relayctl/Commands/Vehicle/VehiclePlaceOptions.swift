import ArgumentParser

/// The buses and identifiers a command applies to.
struct VehiclePlaceOptions: ParsableArguments {
    @Option(parsing: .singleValue, help: "Only this bus; may be repeated.")
    var bus: [Int] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Only this identifier or range, such as 0x7e8 or 0x700-0x7ff; may be repeated.",
            valueName: "id"))
    var id: [String] = []

    func validate() throws {
        for bus in bus { try VehicleArguments.checkBus(bus) }
        for text in id { try VehicleArguments.checkIdentifiers(text) }
    }

    /// The options as the query of the stream.
    var query: [String] {
        bus.map { "bus=\($0)" }
            + id.compactMap(VehicleIdentifiers.init).map { "id=\($0.canonical)" }
    }
}
