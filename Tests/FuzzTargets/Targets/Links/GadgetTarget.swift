// A fuzz target: what a USB host sends to relayd in its role as a phone.

@testable import AccessoryLinks

extension FuzzTarget {
    static let gadget = FuzzTarget(
        name: "gadget",
        about: "what the kernel and a USB host say on endpoint 0 of relayd as a phone",
        promise: "every request is answered or refused, and a link opens and ends in turn",
        maximumBytes: 1024,
        seeds: {
            let start: [[UInt8]] = [
                [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0], [0xC0, 51, 0, 0, 0, 0, 2, 0, 4, 0, 0, 0],
                [0x40, 52, 0, 0, 1, 0, 4, 0, 4, 0, 0, 0], [0x40, 53, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0],
                [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0],
            ]
            return [start.flatMap { $0 }]
        },
        run: { bytes in
            var phone = AccessoryOnEndpointZero(
                startsAsAccessory: bytes.first.map { $0 & 1 == 1 } ?? false)
            var isOpen = false
            func follow(_ actions: [AccessoryOnEndpointZero.Action]) throws {
                for action in actions {
                    switch action {
                    case .openLink:
                        try ensure(!isOpen, "opened twice")
                        isOpen = true
                    case .closeLink:
                        try ensure(isOpen, "ended twice")
                        isOpen = false
                    case .take(let count):
                        try ensure(
                            count <= AndroidAccessory.maximumStringBytes, "takes \(count) bytes")
                        try follow(phone.took(Array(bytes.prefix(count))))
                    case .tell(let remark):
                        try ensure(!remark.words.contains("\n"), "two lines: \(remark.words)")
                    case .answer, .halt, .comeBack, .lostController: break
                    }
                }
            }
            for event in FunctionEvent.parse(bytes) {
                let actions = phone.received(event)
                if case .setup = event {
                    let ends = actions.count { action in
                        switch action {
                        case .answer, .take, .halt: true
                        default: false
                        }
                    }
                    try ensure(ends == 1, "\(ends) answers to \(event)")
                }
                try follow(actions)
                if case .unknown = event { try follow(phone.waitedLongEnough()) }
                try ensure(isOpen == (phone.state == .open), "\(phone.state), and open: \(isOpen)")
            }
        })
}
