/// A control request from the host, as in the eight bytes of a setup packet (USB 2.0, 9.3).
package struct SetupRequest: Hashable, Sendable {
    package static let byteCount = 8

    /// bmRequestType: direction, kind and recipient.
    package let type: UInt8
    package let request: UInt8
    package let value: UInt16
    package let index: UInt16
    /// Bytes of the data stage: at most this many to the host, exactly this many from it.
    package let length: UInt16

    package init(
        type: UInt8, request: UInt8, value: UInt16 = 0, index: UInt16 = 0, length: UInt16 = 0
    ) {
        (self.type, self.request, self.value, self.index, self.length) =
            (type, request, value, index, length)
    }

    /// Whether the data stage, if there is one, goes to the host.
    package var isIn: Bool { type & 0x80 != 0 }
}

/// What the kernel reports on endpoint 0 of a function (linux/usb/functionfs.h, `usb_functionfs_event`).
package enum FunctionEvent: Hashable, Sendable {
    /// The gadget has been given a controller.
    case bind
    /// The controller has been taken away, by relayd or by its own removal.
    case unbind
    /// The host has chosen the configuration: the bulk endpoints work. If it comes twice, the end in between was
    /// too short to be reported.
    case enable
    /// The host has left or has reset the device: the bulk endpoints no longer work.
    case disable
    /// A request for relayd to answer; the one before, if it is still unanswered, is void.
    case setup(SetupRequest)
    case suspend
    case resume
    /// From a later kernel.
    case unknown(UInt8)

    /// Bytes of one event, including padding.
    package static let byteCount = 12
    /// The most events that the kernel keeps.
    package static let maximumPending = 4

    /// The events from one read of endpoint 0. The kernel gives whole ones; any rest is dropped.
    package static func parse(_ bytes: UnsafeRawBufferPointer) -> [FunctionEvent] {
        var events: [FunctionEvent] = []
        var start = 0
        while start + byteCount <= bytes.count {
            events.append(
                FunctionEvent(UnsafeRawBufferPointer(rebasing: bytes[start..<start + byteCount])))
            start += byteCount
        }
        return events
    }

    /// Setup packet (8 bytes, its numbers little endian), kind (1), padding (3).
    private init(_ bytes: UnsafeRawBufferPointer) {
        func number(_ at: Int) -> UInt16 { UInt16(bytes[at]) | UInt16(bytes[at + 1]) << 8 }
        switch bytes[8] {
        case 0: self = .bind
        case 1: self = .unbind
        case 2: self = .enable
        case 3: self = .disable
        case 4:
            self = .setup(
                SetupRequest(
                    type: bytes[0], request: bytes[1], value: number(2), index: number(4),
                    length: number(6)))
        case 5: self = .suspend
        case 6: self = .resume
        case let kind: self = .unknown(kind)
        }
    }
}
