import Glibc
import NIOCore
import RelayTesting
import Synchronization
import Testing

@testable import AccessoryLinks

// A simulated head unit on a simulated gadget, with the real threads between them.

@Suite("A link as a phone")
struct GadgetTransportTests {
    /// Simulates a head unit that sees an accessory at once and opens it.
    private func open(_ fake: FakeGadget, _ link: SupervisedLink) async throws {
        try await fake.state.wait(for: "an accessory") { $0.faces == [.accessory] }
        fake.configure()
        try await link.waitUntilOpen()
    }

    /// Runs a supervised link on a machine with these controllers.
    private func run(
        _ text: String = "gadget:", controllers names: [String] = ["the.udc"],
        _ body: (FakeGadget, SupervisedLink, RelayTesting.TemporaryDirectory) async throws -> Void
    ) async throws {
        try await RelayTesting.TemporaryDirectory.run { directory in
            for name in names { try directory.write("", to: name) }
            try await run(text, seeing: DeviceControllers(directory: directory.path)) {
                fake, link in try await body(fake, link, directory)
            }
        }
    }

    private func run(
        _ text: String = "gadget:", seeing controllers: DeviceControllers,
        _ body: (FakeGadget, SupervisedLink) async throws -> Void
    ) async throws {
        let address = try AccessoryAddress(text)
        let fake = try FakeGadget()
        let transport = GadgetTransport(
            try GadgetOptions(address), controllers, absence: .milliseconds(1)
        ) { () throws(LinkProblem) in fake }
        let link = SupervisedLink(transport, at: address)
        try await link.run { link in try await body(fake, link) }
    }

    @Test("it waits as a phone; a head unit leads it into accessory mode, and bytes flow")
    func opens() async throws {
        try await run { fake, link, _ in
            try await link.waitUntilPlace("the USB device controller the.udc, as a phone")
            try await fake.start(packets: [[1, 2, 3]])
            try await link.waitUntilOpen()
            #expect(fake.state.value.faces == [.phone, nil, .accessory])
            #expect(
                link.transport.details?.values.device
                    == "SDL Core 1.0, unit, uri, serial 7, at the.udc")
            #expect(try await link.probe.receive(3) == [1, 2, 3])
            fake.send([])
            fake.send([4])
            #expect(try await link.probe.receive(4) == [1, 2, 3, 4])
            try await #require(link.probe.seen.value.channel).send([9, 8])
            try await fake.state.wait(for: "the bytes") { $0.transfers == [[9, 8]] }
        }
    }

    @Test("the status says how far the head unit is")
    func progress() async throws {
        try await run { fake, link, _ in
            let place = "the USB device controller the.udc, as a phone"
            try await link.waitUntilPlace(place)
            fake.configure()
            try await link.waitUntilPlace(
                place + " that the head unit sees, but has not asked anything")
            let ask = SetupRequest(type: 0xC0, request: 51, length: 2)
            #expect(try await fake.request(ask) == .data([2, 0]))
            try await link.waitUntilPlace(
                place + " that the head unit has asked for accessory mode")
            let odd = SetupRequest(type: 0x40, request: 58)
            #expect(try await fake.request(odd) == .halted)
            let name = SetupRequest(type: 0x40, request: 52, length: 3)
            #expect(try await fake.request(name, Array("SDL".utf8)) == .acknowledged)
            #expect(
                try await fake.request(SetupRequest(type: 0x40, request: 53)) == .acknowledged)
            try await link.waitUntilPlace(
                "the USB device controller the.udc, as an accessory that SDL has not taken yet")
        }
    }

    @Test(
        "transfers are cut as Android cuts them: 16 KB at most, and an empty packet where none is short"
    )
    func sizes() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            try await open(fake, link)
            let channel = try #require(link.probe.seen.value.channel)
            var expected: [Int] = []
            for count in [1, 511, 512, 513, 16_383, 16_384, 16_896] {
                try await channel.send([UInt8](repeating: 7, count: count))
                expected += count > 16_384 ? [16_384, count - 16_384] : [count]
                if count.isMultiple(of: 512) { expected.append(0) }
                let wanted = expected
                let state = try await fake.state.wait(for: "\(count) bytes") {
                    $0.transfers.count >= wanted.count
                }
                #expect(state.transfers.map(\.count) == wanted)
            }
        }
    }

    @Test(
        "a pulled cable ends the link; then the machine is a phone again, and the next one is led in"
    )
    func replug() async throws {
        try await run { fake, link, _ in
            for round in 1...3 {
                try await fake.state.wait(for: "a phone") { $0.faces.last == .phone }
                try await fake.start()
                try await link.waitUntilOpen(times: round)
                fake.leave()
                try await link.states.wait(for: "the end") { states in
                    states.count { $0.reason?.code == .closedByPeer } >= round
                }
            }
            let reason = try #require(link.states.value.compactMap(\.reason).last)
            #expect(
                reason.message
                    == "the head unit left: its cable was pulled, or it was switched off, restarted or reset"
            )
        }
    }

    @Test("when the controller has gone with the head unit, relayd says which of them it waits for")
    func leftWithController() async throws {
        try await run("gadget:?start=accessory") { fake, link, directory in
            try await open(fake, link)
            unlink(directory.file("the.udc"))
            fake.leave()
            let problem = try await link.waitUntilReason(.absent)
            #expect(problem.message.hasPrefix("this machine has no USB device controller"))
            let ended = link.states.value.compactMap(\.reason).first
            #expect(ended?.message.hasPrefix("the head unit left") == true)
        }
    }

    @Test("a head unit that begins anew loses nothing of it to the link before")
    func reset() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            try await fake.state.wait(for: "an accessory") { $0.faces == [.accessory] }
            var expected: [UInt8] = []
            for round in 1...6 {
                // Configured again at once, with packets waiting: the end in between is not reported.
                let packets = (1...5).map { [UInt8(round), UInt8($0)] }
                fake.configure(packets: packets)
                expected += packets.joined()
                let wanted = expected
                let bytes = try await link.probe.receive(wanted.count)
                #expect(bytes == wanted)
                try await link.waitUntilOpen(times: round)
            }
            #expect(link.transport.details?.values.lostBytesIn == 0)
        }
    }

    @Test("what had come before the head unit left is delivered, although nobody had looked at it")
    func readAhead() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            try await fake.state.wait(for: "an accessory") { $0.faces == [.accessory] }
            fake.configure(packets: [[1]])
            try await link.waitUntilOpen()
            #expect(try await link.probe.receive(1) == [1])
            fake.leave(after: [[2, 3], [4]])
            let reason = try await link.waitUntilReason(.closedByPeer)
            #expect(try await link.probe.receive(4) == [1, 2, 3, 4])
            #expect(!reason.message.contains("lost"), "\(reason.message)")
            #expect(link.transport.details?.values.lostBytesIn == 0)
        }
    }

    @Test(
        "transfers run ahead of a head unit that does not read, and each that it never takes is counted"
    )
    func writtenAhead() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            try await open(fake, link)
            fake.holdReads(true)
            let channel = try #require(link.probe.seen.value.channel)
            try await channel.send([UInt8](repeating: 1, count: 6 * 16_384))
            try await fake.state.wait(for: "as many as there are buffers") {
                $0.ahead.map(\.count) == Array(repeating: 16_384, count: FakeGadget.transfersAhead)
            }
            fake.leave()
            let reason = try await link.waitUntilReason(.closedByPeer)
            #expect(
                reason.message.hasSuffix("; lost: at most 98304 bytes for it"), "\(reason.message)")
            #expect(link.transport.details?.values.lostBytesOut == 98_304)
        }
    }

    @Test("a stream of full packets keeps transfers ahead of the head unit; an empty one ends it")
    func streams() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            try await open(fake, link)
            fake.holdReads(true)
            let channel = try #require(link.probe.seen.value.channel)
            let piece = [UInt8](repeating: 1, count: 16_384)
            for count in 1...3 {
                try await channel.send(piece)
                try await fake.state.wait(for: "another ahead") { $0.ahead.count == count }
            }
            fake.readOne()
            try await channel.send(piece)
            try await fake.state.wait(for: "one in its place") {
                $0.transfers.count == 1 && $0.ahead.count == 3
            }
            fake.holdReads(false)
            try await fake.state.wait(for: "the end of the head unit's read") {
                $0.transfers == Array(repeating: piece, count: 4) + [[]]
            }
        }
    }

    @Test("bytes that come while the head unit reads go in the place of an empty packet")
    func followed() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            try await open(fake, link)
            fake.holdReads(true)
            let channel = try #require(link.probe.seen.value.channel)
            let packet = [UInt8](repeating: 1, count: 512)
            try await channel.send(packet)
            try await fake.state.wait(for: "the packet") { $0.ahead == [packet] }
            try await channel.send([7])
            try await fake.state.wait(for: "what ends the read") { $0.ahead == [packet, [7]] }
            fake.holdReads(false)
            try await channel.send([8])
            try await fake.state.wait(for: "no empty packet") {
                $0.transfers == [packet, [7], [8]]
            }
        }
    }

    @Test("what a head unit did not take before it left is counted")
    func blocked() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            try await open(fake, link)
            fake.holdReads(true)
            try await #require(link.probe.seen.value.channel).send(
                [UInt8](repeating: 1, count: 1000))
            try await fake.state.wait(for: "a transfer that waits") { $0.waiting == 1000 }
            fake.leave()
            let reason = try await link.waitUntilReason(.closedByPeer)
            #expect(reason.message.hasSuffix("; lost: at most 1000 bytes for it"))
            #expect(link.transport.details?.values.lostBytesOut == 1000)
        }
    }

    @Test("a packet that the controller may have kept counts as lost, until another has followed")
    func kept() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            try await open(fake, link)
            let channel = try #require(link.probe.seen.value.channel)
            try await channel.send([UInt8](repeating: 1, count: 1000))
            try await fake.state.wait(for: "the first") { $0.transfers.count == 1 }
            fake.holdReads(true)
            try await channel.send([1, 2, 3])
            try await fake.state.wait(for: "the controller's own") { $0.kept == [1, 2, 3] }
            fake.leave()
            let reason = try await link.waitUntilReason(.closedByPeer)
            #expect(reason.message.hasSuffix("; lost: at most 3 bytes for it"))
            #expect(link.transport.details?.values.lostBytesOut == 3)
        }
    }

    @Test("a reopen is what a pulled cable is for the head unit; what was sent before arrives")
    func reopen() async throws {
        try await run { fake, link, _ in
            try await link.waitUntilPlace("the USB device controller the.udc, as a phone")
            try await fake.start()
            try await link.waitUntilOpen()
            try await #require(link.probe.seen.value.channel).send([1, 2, 3])
            link.supervisor.reopen()
            try await fake.state.wait(for: "a phone again") {
                $0.faces == [.phone, nil, .accessory, nil, .phone]
            }
            // An empty packet: once it has been fetched, so has everything before it.
            #expect(fake.state.value.transfers == [[1, 2, 3], []])
            #expect(link.transport.details?.values.lostBytesOut == 0)
            try await fake.start()
            try await link.waitUntilOpen(times: 2)
        }
    }

    @Test("a head unit that does not read keeps the link for a second after its end, not longer")
    func drains() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            try await open(fake, link)
            fake.holdReads(true)
            let channel = try #require(link.probe.seen.value.channel)
            try await channel.send([UInt8](repeating: 1, count: 10))
            try await withDeadline("the close") { try await channel.close() }
            #expect(link.transport.details?.values.lostBytesOut == 10)
        }
    }

    @Test("transfers that the kernel does not set up end the link, with its reason")
    func refused() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            let refusal = LinkProblem.system("no transfers", errno: ENOSYS)
            fake.state.update { $0.transferRefusal = refusal }
            try await fake.state.wait(for: "an accessory") { $0.faces == [.accessory] }
            fake.configure()
            let states = try await link.states.wait(for: "the reason") { states in
                states.contains { $0.reason != nil }
            }
            #expect(states.compactMap(\.reason).first == refusal)
        }
    }

    @Test("a suspended bus is told, and keeps the link")
    func suspend() async throws {
        try await run("gadget:?start=accessory") { fake, link, _ in
            try await open(fake, link)
            let details = try #require(link.transport.details)
            let name = "a head unit that has not said its name, at the.udc"
            #expect(details.values.device == name)
            fake.suspend()
            // A later request is answered later.
            _ = try await fake.request(SetupRequest(type: 0xC0, request: 51, length: 2))
            #expect(details.values.device == "\(name), suspended by the head unit")
            fake.resume()
            _ = try await fake.request(SetupRequest(type: 0xC0, request: 51, length: 2))
            #expect(details.values.device == name)
            #expect(link.states.value.last?.isOpen == true)
        }
    }

    @Test("a controller that goes is waited for; without one, or with two, the reason is told")
    func controllers() async throws {
        try await run { fake, link, directory in
            try await fake.state.wait(for: "a phone") { $0.faces == [.phone] }
            unlink(directory.file("the.udc"))
            fake.loseController()
            let problem = try await link.waitUntilReason(.absent)
            #expect(problem.message == "the USB device controller the.udc is not there")
            try directory.write("", to: "the.udc")
            link.supervisor.reopen()
            try await fake.state.wait(for: "a phone again") {
                $0.faces.last == .phone && $0.faces.count > 1
            }
        }
        try await run(controllers: []) { _, link, _ in
            let problem = try await link.waitUntilReason(.absent)
            #expect(
                problem.message
                    == "this machine has no USB device controller, or its driver is not loaded")
        }
        try await run(controllers: ["a", "b"]) { _, link, _ in
            let problem = try await link.waitUntilReason(.ambiguous)
            #expect(problem.message == "there are several USB device controllers: a, b")
        }
        try await run("gadget:?udc=c", controllers: ["a", "b"]) { _, link, _ in
            let problem = try await link.waitUntilReason(.absent)
            #expect(problem.message == "the USB device controller c is not there; there is a, b")
        }
    }

    /// A controller that is disappearing: it can be seen only a set number of times more.
    private final class Departure: Sendable {
        let looks = Mutex<Int?>(nil)

        var controllers: DeviceControllers {
            DeviceControllers { [self] in
                looks.withLock { looks in
                    guard let left = looks else { return ["the.udc"] }
                    looks = max(0, left - 1)
                    return left > 0 ? ["the.udc"] : []
                }
            }
        }
    }

    @Test("a controller that can be seen for a moment without its gadget is not taken, but gone")
    func departs() async throws {
        let departure = Departure()
        try await run(seeing: departure.controllers) { fake, link in
            try await fake.state.wait(for: "a phone") { $0.faces == [.phone] }
            // relayd's first look; the supervisor does not look before that is answered.
            departure.looks.withLock { $0 = 1 }
            fake.loseController()
            let states = try await link.states.wait(for: "the reason") { states in
                states.contains { $0.reason != nil }
            }
            let reason = try #require(states.compactMap(\.reason).first)
            #expect(reason.message == "the USB device controller the.udc is not there")
        }
    }

    @Test("a controller that refuses the gadget because it is going is not in use, but gone")
    func departsUnbound() async throws {
        let departure = Departure()
        try await run(seeing: departure.controllers) { fake, link in
            try await link.waitUntilPlace("the USB device controller the.udc, as a phone")
            fake.state.update { $0.refusal = LinkProblem(.busy, "in use") }
            // relayd's choice of the controller, and its first look after the refusal.
            departure.looks.withLock { $0 = 2 }
            link.supervisor.reopen()
            let states = try await link.states.wait(for: "the reason") { states in
                states.contains { $0.reason != nil }
            }
            let reason = try #require(states.compactMap(\.reason).first)
            #expect(reason.message == "the USB device controller the.udc is not there")
        }
    }

    @Test("a controller that stays, without the gadget, has been taken")
    func taken() async throws {
        try await run { fake, link, _ in
            try await fake.state.wait(for: "a phone") { $0.faces == [.phone] }
            fake.loseController()
            let problem = try await link.waitUntilReason(.busy)
            #expect(
                problem.message
                    == "somebody has taken the USB device controller the.udc away from relayd")
        }
    }

    @Test("a controller that somebody else has is told, and tried again")
    func busy() async throws {
        try await run { fake, link, _ in
            try await link.waitUntilPlace("the USB device controller the.udc, as a phone")
            fake.state.update { $0.refusal = LinkProblem(.busy, "in use") }
            link.supervisor.reopen()
            try await link.waitUntilReason(.busy)
            fake.state.update { $0.refusal = nil }
            try await fake.state.wait(for: "a phone") { $0.faces.last == .phone }
        }
    }
}

extension SupervisedLink {
    fileprivate func waitUntilPlace(_ place: String) async throws {
        try await states.wait(for: "listening at \(place)") { states in
            if case .listening(place, _)? = states.last { true } else { false }
        }
    }

    @discardableResult
    fileprivate func waitUntilReason(_ code: LinkProblem.Code) async throws -> LinkProblem {
        let states = try await states.wait(for: "waiting because \(code)") { states in
            states.contains { $0.reason?.code == code }
        }
        return try #require(states.compactMap(\.reason).last { $0.code == code })
    }
}
