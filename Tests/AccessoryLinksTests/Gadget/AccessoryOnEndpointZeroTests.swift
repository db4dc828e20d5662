import Testing

@testable import AccessoryLinks

// The dialogue on paper: what a head unit does, and how relayd responds.

@Suite("AccessoryOnEndpointZero")
struct AccessoryOnEndpointZeroTests {
    private static let ask = SetupRequest(type: 0xC0, request: 51, length: 2)
    private static let start = SetupRequest(type: 0x40, request: 53)
    private static let names = [
        "SDL", "Core", "SmartDeviceLink Core Component USB", "1.0",
        "http://www.smartdevicelink.org", "N000000",
    ]

    private static func string(_ index: UInt16, _ length: Int) -> SetupRequest {
        SetupRequest(type: 0x40, request: 52, index: index, length: UInt16(length))
    }

    /// A phone that has received the head unit's strings.
    private func introduced() -> AccessoryOnEndpointZero {
        var phone = AccessoryOnEndpointZero()
        _ = phone.received(.enable)
        _ = phone.received(.setup(Self.ask))
        for (index, name) in Self.names.enumerated() {
            _ = phone.received(.setup(Self.string(UInt16(index), name.utf8.count)))
            _ = phone.took(Array(name.utf8))
        }
        return phone
    }

    /// An accessory that the phone waits for.
    private func started() -> AccessoryOnEndpointZero {
        var phone = introduced()
        _ = phone.received(.setup(Self.start))
        _ = phone.took([])
        #expect(phone.state == .awaited)
        return phone
    }

    private func opened() -> AccessoryOnEndpointZero {
        var phone = started()
        #expect(phone.received(.enable).last == .openLink)
        return phone
    }

    @Test("a head unit asks, says six strings, starts, and comes to the accessory")
    func dialogue() {
        var phone = AccessoryOnEndpointZero()
        #expect(phone.face == .phone)
        #expect(phone.received(.bind) == [])
        #expect(phone.received(.enable) == [])
        #expect(phone.received(.setup(Self.ask)) == [.answer([2, 0])])
        for (index, name) in Self.names.enumerated() {
            let request = Self.string(UInt16(index), name.utf8.count)
            #expect(phone.received(.setup(request)) == [.take(name.utf8.count)])
            #expect(phone.took(Array(name.utf8)) == [])
        }
        #expect(phone.received(.setup(Self.start)) == [.take(0)])
        let headUnit = phone.headUnit
        #expect(
            headUnit.words
                == "SDL Core 1.0, SmartDeviceLink Core Component USB, "
                + "http://www.smartdevicelink.org, serial N000000")
        #expect(phone.took([]) == [.tell(.starts(headUnit)), .comeBack(as: .accessory)])
        #expect(phone.face == .accessory)
        #expect(phone.received(.bind) == [])
        #expect(phone.received(.enable) == [.tell(.configured(headUnit)), .openLink])
        #expect(phone.state == .open)
        #expect(phone.patience == nil)
    }

    @Test("before it is configured, a phone is asked the same")
    func unconfigured() {
        var phone = AccessoryOnEndpointZero(protocolVersion: 1)
        #expect(phone.received(.setup(Self.ask)) == [.answer([1, 0])])
        #expect(phone.received(.setup(Self.start)) == [.take(0)])
        let nameless = HeadUnitIntroduction()
        #expect(phone.took([]) == [.tell(.starts(nameless)), .comeBack(as: .accessory)])
        #expect(
            GadgetRemark.starts(nameless).words
                == "the head unit, which has not said its name, starts accessory mode")
    }

    @Test("when the cable is pulled the link ends; soon the machine is a phone again")
    func pulled() {
        var phone = opened()
        #expect(phone.received(.disable) == [.closeLink(.left)])
        #expect(phone.patience == .seconds(2))
        #expect(phone.waitedLongEnough() == [.comeBack(as: .phone)])
        #expect(phone.state == .phone)
        #expect(phone.patience == nil)
        #expect(phone.received(.enable) == [])
        #expect(phone.received(.setup(Self.ask)) == [.answer([2, 0])])
        #expect(phone.headUnit.words == nil)
    }

    @Test("a head unit that only resets the accessory finds it as it was")
    func reset() {
        var phone = opened()
        #expect(phone.received(.disable) == [.closeLink(.left)])
        #expect(phone.received(.enable) == [.tell(.configured(phone.headUnit)), .openLink])
        // The kernel keeps only the last of disable and enable.
        #expect(phone.received(.enable) == [.closeLink(.reset), .openLink])
    }

    @Test("a suspended bus keeps the link, and is told once")
    func suspend() {
        var phone = opened()
        #expect(phone.received(.suspend) == [.tell(.suspended)])
        #expect(phone.isSuspended)
        #expect(phone.received(.resume) == [.tell(.resumed)])
        #expect(phone.received(.resume) == [])
        #expect(phone.received(.suspend) == [.tell(.suspended)])
        #expect(phone.received(.disable) == [.closeLink(.left)])
        #expect(!phone.isSuspended)
        var idle = AccessoryOnEndpointZero()
        #expect(idle.received(.suspend) == [])
        #expect(idle.received(.resume) == [])
    }

    @Test("the controller can go at any time")
    func controllerGone() {
        var phone = opened()
        #expect(phone.received(.unbind) == [.closeLink(.lostController), .lostController])
        var waiting = started()
        #expect(waiting.received(.unbind) == [.lostController])
        waiting.restarted()
        #expect(waiting.state == .phone)
        var always = AccessoryOnEndpointZero(startsAsAccessory: true)
        _ = always.received(.enable)
        always.restarted()
        #expect(always.state == .awaited)
    }

    @Test(
        "a head unit that never asks, never starts or never returns is told of, and may try again")
    func neverGoesOn() {
        var seen = AccessoryOnEndpointZero()
        _ = seen.received(.enable)
        #expect(seen.patience == .seconds(10))
        #expect(seen.waitedLongEnough() == [.tell(.neverAsked)])
        #expect(seen.patience == nil)
        #expect(seen.received(.setup(Self.ask)) == [.answer([2, 0])])

        var asked = introduced()
        let headUnit = asked.headUnit
        #expect(asked.patience == .seconds(10))
        #expect(asked.waitedLongEnough() == [.tell(.neverStarted(headUnit))])
        #expect(asked.patience == nil)
        #expect(asked.received(.setup(Self.start)) == [.take(0)])
        #expect(asked.took([]) == [.tell(.starts(headUnit)), .comeBack(as: .accessory)])

        var awaited = started()
        #expect(awaited.patience == .seconds(10))
        #expect(awaited.waitedLongEnough() == [.tell(.neverReturned), .comeBack(as: .phone)])
        #expect(awaited.face == .phone)
    }

    @Test("a head unit that leaves before it starts has said nothing")
    func leavesEarly() {
        var phone = introduced()
        #expect(phone.received(.disable) == [.tell(.leftBeforeStart)])
        #expect(phone.received(.disable) == [])
        _ = phone.received(.enable)
        _ = phone.received(.setup(Self.ask))
        #expect(phone.headUnit.said == 0)
    }

    @Test("a head unit that asks twice begins anew")
    func asksTwice() {
        var phone = introduced()
        #expect(phone.received(.setup(Self.ask)) == [.answer([2, 0]), .tell(.askedAgain)])
        #expect(phone.headUnit.said == 0)
        #expect(phone.received(.setup(Self.start)) == [.take(0)])
    }

    @Test("an accessory in use answers the question, and starts anew when it is told to")
    func startsAnew() {
        var phone = opened()
        let headUnit = phone.headUnit
        #expect(phone.received(.setup(Self.ask)) == [.answer([2, 0])])
        #expect(phone.state == .open)
        #expect(phone.headUnit == headUnit)
        #expect(phone.received(.setup(Self.start)) == [.take(0)])
        #expect(
            phone.took([]) == [
                .closeLink(.startsAnew), .tell(.starts(headUnit)), .comeBack(as: .accessory),
            ])
        #expect(phone.received(.enable).last == .openLink)
    }

    @Test("start=accessory is an accessory from the beginning, and waits for any time")
    func startsAsAccessory() {
        var phone = AccessoryOnEndpointZero(startsAsAccessory: true)
        #expect(phone.face == .accessory)
        #expect(phone.patience == nil)
        #expect(phone.received(.enable).last == .openLink)
        #expect(phone.received(.disable) == [.closeLink(.left)])
        #expect(phone.patience == nil)
        #expect(phone.received(.enable).last == .openLink)
        // The head unit may still tell it to start.
        _ = phone.received(.setup(Self.string(0, 3)))
        _ = phone.took(Array("SDL".utf8))
        _ = phone.received(.setup(Self.start))
        #expect(phone.took([]).last == .comeBack(as: .accessory))
        #expect(phone.headUnit.words == "SDL")
    }
}

// Hostile or broken head units.

@Suite("AccessoryOnEndpointZero and hostile hosts")
struct HostileEndpointZeroTests {
    private static let ask = SetupRequest(type: 0xC0, request: 51, length: 2)

    @Test(
        "requests that a phone has not are refused, and the dialogue goes on",
        arguments: [
            (0x40, 54, 0), (0x40, 55, 0), (0x40, 56, 8), (0x40, 57, 8), (0x40, 58, 0),
            (0x40, 59, 0),
            (0x40, 51, 0), (0xC0, 52, 2), (0xC0, 53, 0), (0x40, 53, 1), (0x40, 53, 65_535),
            (0xC0, 0, 65_535), (0x41, 52, 4), (0xC1, 51, 2), (0x42, 53, 0), (0x21, 9, 1),
            (0x00, 5, 0), (0x80, 6, 255), (0xFF, 255, 65_535),
        ])
    func unknown(type: Int, request: Int, length: Int) {
        var phone = AccessoryOnEndpointZero()
        _ = phone.received(.setup(Self.ask))
        let odd = SetupRequest(
            type: UInt8(type), request: UInt8(request), length: UInt16(length))
        #expect(phone.received(.setup(odd)) == [.tell(.unknownRequest(odd)), .halt(odd)])
        // Logged once; a host can repeat it a thousand times a second.
        #expect(phone.received(.setup(odd)) == [.halt(odd)])
        #expect(phone.state == .asked)
    }

    @Test("the answer is never longer than what the host has room for", arguments: 0...3)
    func shortAnswers(length: Int) {
        var phone = AccessoryOnEndpointZero()
        let ask = SetupRequest(type: 0xC0, request: 51, length: UInt16(length))
        #expect(phone.received(.setup(ask)) == [.answer(Array([2, 0].prefix(length)))])
    }

    @Test("strings of wrong lengths: empty, the longest, and longer ones, which are refused")
    func stringLengths() {
        var phone = AccessoryOnEndpointZero()
        _ = phone.received(.setup(Self.ask))
        for length: UInt16 in [0, 1, 256] {
            let request = SetupRequest(type: 0x40, request: 52, index: 1, length: length)
            #expect(phone.received(.setup(request)) == [.take(Int(length))])
            #expect(phone.took([UInt8](repeating: 0x41, count: Int(length))) == [])
        }
        #expect(phone.headUnit.model == String(repeating: "A", count: 256))
        for length: UInt16 in [257, 65_535] {
            let request = SetupRequest(type: 0x40, request: 52, index: 1, length: length)
            #expect(
                phone.received(.setup(request)) == [.tell(.longString(length)), .halt(request)])
        }
    }

    @Test("a string that is no text, has no end, or has a number that does not exist")
    func oddStrings() {
        var phone = AccessoryOnEndpointZero()
        func send(_ index: UInt16, _ bytes: [UInt8]) -> [AccessoryOnEndpointZero.Action] {
            let request = SetupRequest(
                type: 0x40, request: 52, index: index, length: UInt16(bytes.count))
            #expect(phone.received(.setup(request)) == [.take(bytes.count)])
            return phone.took(bytes)
        }
        #expect(send(0, Array("SDL\0rest".utf8)) == [])
        #expect(send(1, [0xFF, 0xFE]) == [])
        #expect(send(3, Array("1\n\u{1B}[31m\u{202E}0".utf8)) == [])
        #expect(send(6, [1]) == [.tell(.unknownString(6))])
        #expect(send(65_535, [1]) == [.tell(.unknownString(65_535))])
        #expect(phone.headUnit.words == "SDL \u{FFFD}\u{FFFD} 1  [31m 0")
    }

    @Test("bytes that nobody asked for, and a request that broke off, change nothing")
    func brokenOff() {
        var phone = AccessoryOnEndpointZero()
        #expect(phone.took([1, 2, 3]) == [])
        let name = SetupRequest(type: 0x40, request: 52, index: 0, length: 3)
        _ = phone.received(.setup(name))
        phone.requestFailed()
        #expect(phone.took(Array("SDL".utf8)) == [])
        _ = phone.received(.setup(name))
        _ = phone.received(.setup(Self.ask))
        #expect(phone.took(Array("SDL".utf8)) == [])
        #expect(phone.headUnit.said == 0)
        _ = phone.received(.setup(SetupRequest(type: 0x40, request: 53)))
        phone.requestFailed()
        #expect(phone.took([]) == [])
        #expect(phone.face == .phone)
    }

    @Test("in every state every event is answered, and 51 leads out of it")
    func everyState() {
        let events: [FunctionEvent] = [
            .bind, .unbind, .enable, .disable, .suspend, .resume, .unknown(7), .setup(Self.ask),
            .setup(SetupRequest(type: 0x40, request: 52, index: 2, length: 4)),
            .setup(SetupRequest(type: 0x40, request: 53)),
            .setup(SetupRequest(type: 0x40, request: 58)),
        ]
        // Every dialogue of four events: whatever came before, a link is opened only while it is not open, and
        // closed only while it is.
        for code in 0..<(events.count * events.count * events.count * events.count) {
            for startsAsAccessory in [false, true] {
                var phone = AccessoryOnEndpointZero(startsAsAccessory: startsAsAccessory)
                var isOpen = false
                var rest = code
                for _ in 0..<4 {
                    var actions = phone.received(events[rest % events.count])
                    rest /= events.count
                    if case .take(let count)? = actions.last {
                        actions += phone.took([UInt8](repeating: 0x41, count: count))
                    }
                    for action in actions {
                        if action == .openLink {
                            #expect(!isOpen)
                            isOpen = true
                        } else if case .closeLink = action {
                            #expect(isOpen)
                            isOpen = false
                        }
                    }
                    #expect(isOpen == (phone.state == .open))
                }
                #expect(phone.received(.setup(Self.ask)).first == .answer([2, 0]))
            }
        }
    }
}
