import OpenXCProtocol

/// Frames of the simulated vehicle's two buses, as passthrough shows them. Firmware sends them without a frame
/// format.
enum CANFrames {
    /// The buses that exist.
    static let buses: ClosedRange<Int32> = 1...2

    private struct Frame: Sendable {
        var bus: Int32
        var id: UInt32
        /// Slots between two frames.
        var period: Int
        /// Whether firmware's acceptance filter lets the frame through, because a signal is made from it.
        var isAccepted: Bool
        var data: @Sendable (Drive) -> [UInt8]
    }

    private static let frames: [Frame] = [
        Frame(bus: 1, id: 0x201, period: 5, isAccepted: true) {
            word($0.train.engineSpeed * 4) + word($0.kilometresPerHour * 100)
                + [byte($0.train.pedal * 2.5), 0, 0, 0]
        },
        Frame(bus: 1, id: 0x110, period: 5, isAccepted: true) {
            word(($0.steering + 800) * 10) + [$0.train.isBraking ? 1 : 0, 0, 0, 0, 0, 0]
        },
        Frame(bus: 1, id: 0x230, period: 10, isAccepted: true) {
            [UInt8($0.train.gear + 1), $0.cabin.lever == .drive ? 3 : 0]
                + word(
                    $0.train.torque + 500)
        },
        Frame(bus: 1, id: 0x4B0, period: 10, isAccepted: false) {
            let wheel = word($0.kilometresPerHour * 100)
            return wheel + wheel + wheel + wheel
        },
        Frame(bus: 2, id: 0x3B3, period: 25, isAccepted: true) { drive in
            let doors = Cabin.Door.allCases.enumerated().reduce(UInt8(0)) { bits, door in
                drive.cabin.open.contains(door.element) ? bits | 1 << UInt8(door.offset) : bits
            }
            return [
                doors, drive.cabin.areHeadlampsOn ? 1 : 0, drive.cabin.isHighBeamOn ? 1 : 0,
                drive.cabin.areWipersOn ? 1 : 0,
            ]
        },
        Frame(bus: 2, id: 0x420, period: 50, isAccepted: true) {
            [byte($0.fuelLevel * 2)] + word($0.train.coolant + 40)
        },
        Frame(bus: 2, id: 0x7A0, period: 50, isAccepted: false) { word($0.time * 10) },
    ]

    private static func byte(_ value: Double) -> UInt8 { UInt8(max(0, min(255, value))) }

    private static func word(_ value: Double) -> [UInt8] {
        // Values that count on and on wrap around to 0.
        let word = UInt16(max(0, value).truncatingRemainder(dividingBy: 65_536))
        return [UInt8(word >> 8), UInt8(word & 0xFF)]
    }

    /// - Parameter bypassed: buses whose acceptance filter is off.
    static func due(
        in slot: Int, on buses: Set<Int32>, bypassed: Set<Int32>, of drive: Drive
    ) -> [CANMessage] {
        guard !buses.isEmpty else { return [] }
        return frames.compactMap { frame in
            guard buses.contains(frame.bus), frame.isAccepted || bypassed.contains(frame.bus),
                slot % frame.period == Int(frame.id) % frame.period
            else { return nil }
            return CANMessage(bus: frame.bus, id: frame.id, data: frame.data(drive))
        }
    }
}
