// A fuzz target: messages of bluetoothd while a Bluetooth link is made, in any order.

@testable import AccessoryLinks

extension FuzzTarget {
    static let bluetooth = FuzzTarget(
        name: "bluetooth",
        about:
            "what bluetoothd says while a Bluetooth link is made, in any order and more than once",
        promise:
            "every connection is taken or refused, one link at most is taken, and it ends once",
        maximumBytes: 256,
        seeds: {
            // Begun, objects, registered, connected, changed, link ended; then the same for a dialogue that
            // connects.
            [[0, 0, 1, 0x27, 2, 0, 4, 0, 5, 0, 9, 0], [1, 0, 1, 0x27, 2, 0, 3, 1, 4, 0, 9, 0]]
        },
        run: { bytes in
            let kind = bytes.first ?? 0
            let unit = kind & 1 == 1 ? BluetoothAddress("00:1A:7D:DA:71:0F") : nil
            var dialogue = BlueZDialogue(
                .init(
                    device: unit, uuid: BluetoothTransport.sdlService,
                    channel: kind & 2 == 2 && unit == nil ? 5 : nil,
                    adapter: kind & 4 == 4 ? "hci0" : nil))
            var links = 0
            var isOver = false
            var questions = 0
            var pairs = bytes.dropFirst(2)[...]
            while pairs.count >= 2 {
                let event = FuzzTarget.heard(pairs.removeFirst(), pairs.removeFirst())
                if case .objects = event { questions = 0 }
                let actions = dialogue.receive(event)
                var verdicts = 0
                for action in actions {
                    switch action {
                    case .take:
                        links += 1
                        verdicts += 1
                    case .refuse: verdicts += 1
                    case .askForObjects: questions += 1
                    case .fail: try ensure(links == 0, "no link, after there was one")
                    case .end:
                        try ensure(!isOver, "ends twice")
                        isOver = true
                    case .listening(let place):
                        try ensure(!place.isEmpty && !isOver, "listens after the end")
                    case .register, .connect, .hangUp:
                        try ensure(!isOver, "\(action) after the end")
                    }
                }
                if case .connected = event {
                    try ensure(verdicts == 1, "\(verdicts) answers to a connection")
                }
                try ensure(links <= 1, "\(links) links")
                try ensure(questions <= 1, "\(questions) questions at once")
            }
        })

    private static func heard(_ kind: UInt8, _ detail: UInt8) -> BlueZDialogue.Event {
        let path = "/org/bluez/hci\(detail & 1)/dev_00_1A_7D_DA_71_0F"
        let failures: [BusFailure] = [
            .system("lost", errno: 104),
            .refused(name: "org.bluez.Error.NotPermitted", words: "UUID already registered"),
            .refused(name: "org.freedesktop.DBus.Error.NoReply", words: ""),
            .refused(name: "org.bluez.Error.Failed", words: "br-connection-refused"),
        ]
        let failure = detail & 8 == 0 ? nil : failures[Int(detail & 3)]
        switch kind % 11 {
        case 0: return .begun
        case 1: return .objects(failure.map { .failure($0) } ?? .success(objects(detail)))
        case 2: return .registered(failure)
        case 3: return .connectAnswered(failure)
        case 4: return .connected(device: path)
        case 5: return .changed
        case 6: return .daemonLeft
        case 7: return .released
        case 8: return .disconnectAsked(device: path)
        case 9: return .linkEnded
        default: return .cancelled
        }
    }

    private static func objects(_ detail: UInt8) -> BlueZObjects {
        BlueZObjects(
            adapters: [
                .init(
                    path: "/org/bluez/hci0", address: "A0:00:00:00:00:01",
                    isPowered: detail & 1 == 1,
                    services: detail & 2 == 2 ? [BluetoothTransport.sdlService] : [])
            ],
            devices: [
                .init(
                    path: "/org/bluez/hci0/dev_00_1A_7D_DA_71_0F", adapter: "/org/bluez/hci0",
                    address: "00:1A:7D:DA:71:0F", name: "SYNC", isPaired: detail & 4 == 4,
                    isBlocked: detail & 16 == 16)
            ])
    }
}
