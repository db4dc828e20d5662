import OpenXCProtocol

/// Which measurements the vehicle interface sends, and when: the official names at their usual rates
/// (openxc-message-format 0.8, "Official Signals"). States are sent once a second and whenever they change.
struct Signals: Sendable {
    /// Slots per second; measurements sent ten times a second are spread over the slots in between.
    static let slots = 50

    private struct Signal: Sendable {
        var name: String
        /// Slots between two measurements.
        var period: Int
        /// First slot.
        var offset: Int
        var value: @Sendable (Drive) -> VehicleValue
    }

    /// A state whose changes are sent at once.
    private struct State: Sendable {
        var name: String
        var offset: Int
        var value: @Sendable (Drive) -> VehicleValue
        /// The event of an evented measurement.
        var event: (@Sendable (Drive) -> VehicleValue)?
    }

    /// - Parameter steps: the parts into which a unit is divided.
    private static func number(
        _ name: String, hertz: Int, _ offset: Int, steps: Double,
        _ value: @escaping @Sendable (Drive) -> Double
    ) -> Signal {
        Signal(name: name, period: slots / hertz, offset: offset) {
            .number((value($0) * steps).rounded() / steps)
        }
    }

    private static let numbers: [Signal] = [
        number("steering_wheel_angle", hertz: 10, 0, steps: 10) { $0.steering },
        number("torque_at_transmission", hertz: 10, 0, steps: 1) { $0.train.torque },
        number("engine_speed", hertz: 10, 1, steps: 1) { $0.train.engineSpeed },
        number("vehicle_speed", hertz: 10, 1, steps: 100) { $0.kilometresPerHour },
        number("accelerator_pedal_position", hertz: 10, 2, steps: 10) { $0.train.pedal },
        number("odometer", hertz: 10, 3, steps: 1e6) { $0.odometer },
        number("fuel_consumed_since_restart", hertz: 10, 4, steps: 1e6) {
            $0.train.litresSinceStart
        },
        number("fuel_level", hertz: 2, 7, steps: 1e4) { $0.fuelLevel },
        number("latitude", hertz: 1, 12, steps: 1e6) { $0.position.latitude },
        number("longitude", hertz: 1, 12, steps: 1e6) { $0.position.longitude },
    ]

    private static let states: [State] =
        [
            State(name: "parking_brake_status", offset: 15) { .flag($0.cabin.isParkingBrakeOn) },
            State(name: "brake_pedal_status", offset: 16) { .flag($0.train.isBraking) },
            State(name: "transmission_gear_position", offset: 17) { .text($0.train.gearName) },
            State(name: "gear_lever_position", offset: 18) { .text($0.cabin.lever.rawValue) },
            State(name: "ignition_status", offset: 19) { .text($0.cabin.ignition.rawValue) },
            State(name: "headlamp_status", offset: 20) { .flag($0.cabin.areHeadlampsOn) },
            State(name: "high_beam_status", offset: 21) { .flag($0.cabin.isHighBeamOn) },
            State(name: "windshield_wiper_status", offset: 22) { .flag($0.cabin.areWipersOn) },
        ]
        + Cabin.Door.allCases.enumerated().map { index, door in
            State(
                name: "door_status", offset: 25 + index, value: { _ in .text(door.rawValue) },
                event: { .flag($0.cabin.open.contains(door)) })
        }

    private var last: [Measurement] = []

    /// The names of all measurements: for tests and documentation.
    static var names: Set<String> {
        Set(numbers.map(\.name) + states.map(\.name) + ["button_event"])
    }

    /// The measurements sent in a slot.
    ///
    /// - Parameter isStep: whether the drive has advanced since the slot before.
    mutating func due(in slot: Int, of drive: Drive, isStep: Bool) -> [Measurement] {
        var due: [Measurement] = []
        for signal in Self.numbers where slot % signal.period == signal.offset % signal.period {
            due.append(Measurement(signal.name, signal.value(drive)))
        }
        for (index, state) in Self.states.enumerated() {
            let isTime = slot % Self.slots == state.offset
            guard isStep || isTime else { continue }
            let measurement = Measurement(
                state.name, state.value(drive), event: state.event?(drive))
            let isNew = !last.indices.contains(index) || last[index] != measurement
            if isNew || isTime { due.append(measurement) }
            if last.indices.contains(index) {
                last[index] = measurement
            } else {
                last.append(measurement)
            }
        }
        if isStep, let button = drive.button {
            due.append(
                Measurement("button_event", .text(button.name), event: .text(button.event)))
        }
        return due
    }
}
