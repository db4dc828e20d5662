import NIOCore
import OpenXCProtocol
import RelayCore

/// Puts the events of the hub's loop into the tap, and has the reader woken soon. Costs an append under a
/// lock; nothing when there is no tap.
struct VehicleTapWriter {
    private unowned let hub: Switchboard
    private let tap: VehicleTap?

    init(_ hub: Switchboard, _ tap: VehicleTap?) {
        self.hub = hub
        self.tap = tap
    }

    /// Whether there is a tap to collect items for.
    var isWanted: Bool { tap != nil }

    /// Records the messages heard from the vehicle interface so far, and empties the list.
    func record(_ heard: inout [VehicleItem.Heard]) {
        guard !heard.isEmpty else { return }
        record(.heard(heard), bytes: heard.reduce(0) { $0 + $1.wire.count })
        heard = []
    }

    func record(_ content: @autoclosure () -> VehicleItem.Content) {
        guard tap != nil else { return }
        record(content(), bytes: 0)
    }

    /// - Parameter bytes: The size of the messages on the wire, as far as they have one.
    private func record(_ content: VehicleItem.Content, bytes: Int) {
        guard let tap else { return }
        let item = VehicleItem(content, at: hub.time, steady: hub.now)
        guard tap.record(item, bytes: bytes) else { return }
        hub.loop.assumeIsolated().scheduleTask(in: VehicleTap.delay) { tap.handOver() }
    }
}
