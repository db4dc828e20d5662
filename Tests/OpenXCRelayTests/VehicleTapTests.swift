// The queue between the hub and the observers of messages, filled and emptied by the test.

import NIOCore
import OpenXCProtocol
import RelayCore
import Testing

@testable import OpenXCRelay

@Suite("VehicleTap holds what it may")
struct VehicleTapTests {
    private let tap = VehicleTap(maximumBytes: 4 * VehicleTap.overheadBytes)

    private func record(_ content: VehicleItem.Content) {
        let item = VehicleItem(
            content, at: WallTime(nanoseconds: 0), steady: .uptimeNanoseconds(0))
        if tap.record(item, bytes: 0) { tap.handOver() }
    }

    private func told() async -> [String]? {
        await tap.next()?.map { item in
            switch item.content {
            case .linkOpened(let address): "opened \(address)"
            case .linkClosed(let reason): "closed \(reason)"
            case .missed(let messages): "missed \(messages)"
            case .sent: "sent"
            case .heard, .answered, .noted: "else"
            }
        }
    }

    @Test("a link that comes and goes while nobody reads fills nothing; its last state is told")
    func flaps() async {
        for number in 1...1000 {
            record(.linkOpened(address: "\(number)"))
            record(.linkClosed(reason: "\(number)"))
        }
        record(.linkOpened(address: "last"))
        tap.finish()
        #expect(await told() == ["opened 1", "closed 1", "opened 2", "closed 2"])
        #expect(await told() == ["closed 1000", "opened last"])
        #expect(await told() == nil)
    }

    @Test("an opening that nobody was told of is not told once the link has ended")
    func opensInVain() async {
        let message = VehicleMessage(.measurement(Measurement("a", .number(1))))
        for _ in 0..<6 { record(.sent(message, by: nil)) }
        record(.linkOpened(address: "a"))
        record(.linkClosed(reason: "b"))
        #expect(await told() == ["sent", "sent", "sent", "sent"])
        #expect(await told() == ["missed 2", "closed b"])
        #expect(tap.missedMessages == 2)
        // There is room again.
        record(.linkOpened(address: "c"))
        #expect(await told() == ["opened c"])
    }
}
