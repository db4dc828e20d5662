import Testing

@testable import AccessoryLinks

@Suite("AccessorySwitch")
struct AccessorySwitchTests {
    private let phone = USBDevice.phone()

    /// A switch whose phone has answered everything and has been told to start.
    private func started() -> AccessorySwitch {
        var aoa = AccessorySwitch(phone: phone, identity: .init())
        _ = aoa.ended(.done([2, 0]))
        for _ in 0..<6 { _ = aoa.ended(.done([])) }
        #expect(aoa.ended(.done([])) == .awaitReturn)
        return aoa
    }

    @Test("the protocol is asked, six strings are told, the phone is started, and opened")
    func dialogue() {
        var aoa = AccessorySwitch(phone: phone, identity: .init())
        #expect(aoa.start() == .send(.init(type: 0xC0, request: 51, length: 2)))
        var step = aoa.ended(.done([1, 0]))
        let strings = [
            "SDL", "Core", "SmartDeviceLink Core Component USB", "1.0",
            "http://www.smartdevicelink.org", "N000000",
        ]
        for (index, string) in strings.enumerated() {
            let bytes = Array(string.utf8) + [0]
            #expect(
                step
                    == .send(
                        .init(
                            type: 0x40, request: 52, index: UInt16(index), data: bytes,
                            length: UInt16(bytes.count))))
            step = aoa.ended(.done([]))
        }
        #expect(step == .send(.init(type: 0x40, request: 53, length: 0)))
        #expect(aoa.ended(.done([])) == .awaitReturn)
        #expect(aoa.left(phone) == .stay)
        #expect(aoa.appeared(.mouse) == .stay)
        #expect(aoa.appeared(.accessory(ports: [1])) == .stay)
        #expect(aoa.appeared(.accessory()) == .open(.accessory()))
        #expect(aoa.deadlinePassed() == .stay)
    }

    @Test("a phone that leaves in the middle of its answer to start is awaited all the same")
    func leavesEarly() {
        for reply in [USBControlReply.gone, .timedOut, .failed("no")] {
            var aoa = AccessorySwitch(phone: phone, identity: .init())
            _ = aoa.ended(.done([2, 0]))
            for _ in 0..<6 { _ = aoa.ended(.done([])) }
            #expect(aoa.ended(reply) == .awaitReturn)
            #expect(aoa.appeared(.accessory()) == .open(.accessory()))
        }
    }

    @Test("a device that knows no accessory mode is asked once and not again")
    func unsupported() {
        for reply in [USBControlReply.stalled, .done([0, 0]), .done([])] {
            var aoa = AccessorySwitch(phone: phone, identity: .init())
            guard case .fail(let problem, isFinal: true) = aoa.ended(reply) else {
                Issue.record("no final failure after \(reply)")
                continue
            }
            #expect(problem.code == .unsupported)
            #expect(
                problem.message.hasPrefix(
                    "Phone at port 1-2.3 cannot be switched to accessory mode: it "))
        }
        var refuses = AccessorySwitch(phone: phone, identity: .init())
        _ = refuses.ended(.done([2, 0]))
        _ = refuses.ended(.done([]))
        guard case .fail(let problem, isFinal: true) = refuses.ended(.stalled) else {
            Issue.record("no final failure")
            return
        }
        #expect(problem.message.hasSuffix("it refused string 1"))
    }

    @Test("silence, unplugging and broken transfers are told apart")
    func broken() {
        let expected: [(USBControlReply, LinkProblem.Code)] = [
            (.timedOut, .timedOut), (.gone, .vanished), (.failed("input/output error"), .other),
        ]
        for (reply, code) in expected {
            var aoa = AccessorySwitch(phone: phone, identity: .init())
            guard case .fail(let problem, isFinal: false) = aoa.ended(reply) else {
                Issue.record("no failure after \(reply)")
                continue
            }
            #expect(problem.code == code)
            #expect(problem.message.contains("Phone at port 1-2.3"))
        }
    }

    @Test("a phone that never comes back has left or has not")
    func neverBack() {
        var stays = started()
        guard case .fail(let stubborn, isFinal: false) = stays.deadlinePassed() else {
            Issue.record("no failure")
            return
        }
        #expect(stubborn.code == .timedOut)
        #expect(stubborn.message.hasSuffix("was told to enter accessory mode and did not"))
        var leaves = started()
        _ = leaves.left(phone)
        guard case .fail(let gone, isFinal: false) = leaves.deadlinePassed() else {
            Issue.record("no failure")
            return
        }
        #expect(gone.message.hasSuffix("has not returned"))
        // The return is too late for the switch; the watcher of the bus opens it then.
        #expect(leaves.appeared(.accessory()) == .stay)
    }

    @Test("a phone that comes back as something else says as what")
    func comesBackOtherwise() {
        for (device, words) in [
            (phone.with { $0.number = 9 }, "came back as 04e8:6860, not in accessory mode"),
            (USBDevice.accessory(product: 0x2D02), "in accessory mode for audio only"),
        ] {
            var aoa = started()
            guard case .fail(let problem, isFinal: false) = aoa.appeared(device) else {
                Issue.record("no failure")
                continue
            }
            #expect(problem.message.hasSuffix(words))
        }
    }
}
