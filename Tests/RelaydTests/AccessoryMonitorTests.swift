import ControlAPI
import Testing

@testable import AccessoryLinks
@testable import relayd

// The state of the link, across a change of accessory.

@Suite struct AccessoryMonitorTests {
    @Test("what was lost on the way to an earlier head unit is not told of the next one")
    func moved() {
        let old = LinkDetails()
        old.opened("an old device")
        old.ended(lostIn: 3, lostOut: 4)
        let monitor = AccessoryMonitor(kind: "usb", address: "usb:1:1", details: old)
        #expect(monitor.details.lostBytesIn == 3 && monitor.details.lostBytesOut == 4)
        #expect(monitor.details.lostAt.map { Timestamp.now.seconds(since: $0) < 3600 } == true)
        monitor.moved(toKind: "usb", address: "usb:2:2", details: LinkDetails())
        #expect(monitor.address == "usb:2:2")
        #expect(monitor.details.lostBytesIn == 0 && monitor.details.lostBytesOut == 0)
        #expect(monitor.details.lostAt == nil)
        // The old link may end later than this.
        old.ended(lostIn: 5, lostOut: 6)
        #expect(monitor.details.lostBytesIn == 0)
        // A transport without details reports none.
        monitor.moved(toKind: "tcp", address: "tcp:head-unit:12345", details: nil)
        #expect(monitor.kind == "tcp" && monitor.details.lostBytesIn == nil)
    }

    @Test(
        "the state is open when the hub has the link, and at no other time",
        arguments: [
            (true, .opening, .opening, .open), (true, .waiting, .open, .open),
            (true, .open, .waiting, .open), (true, .open, .open, .open),
            (false, .waiting, .open, .waiting), (false, .open, .waiting, .waiting),
            (false, .opening, .waiting, .waiting), (false, .open, .open, .opening),
            (true, .listening, .listening, .open), (false, .listening, .open, .listening),
        ] as [(Bool, AccessoryState, AccessoryState, AccessoryState)])
    func coherent(
        isUp: Bool, earlier: AccessoryState, later: AccessoryState, expected: AccessoryState
    ) {
        let state = AccessoryMonitor.state(
            isUp: isUp, (earlier, .now, nil, 0), (later, .now, nil, 0))
        #expect(state.state == expected)
    }

    @Test("listening is a state of its own, which says where, and that nothing is wrong")
    func listening() {
        let monitor = AccessoryMonitor(kind: "rfcomm", address: "rfcomm:listen")
        monitor.changed(to: .listening(at: "hci0", since: .now))
        let now = monitor.current
        #expect(now.state == .listening && now.attempts == 0)
        #expect(now.reason?.code == "listening")
        #expect(now.reason?.message == "relayd listens at hci0")
    }
}
