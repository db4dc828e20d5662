/// One control request on endpoint 0 and its outcome, in plain values: `AccessorySwitch` and `OpenXCInquiry` decide
/// on them and `USBTransfer` carries them out.
struct USBControlRequest: Hashable {
    /// Milliseconds for one request: devices answer within some ten.
    static let limitMilliseconds: UInt32 = 1000

    /// bmRequestType: 0xC0 vendor, device, to the host; 0x40 to the device.
    var type: UInt8
    var request: UInt8
    var index: UInt16 = 0
    var data: [UInt8] = []
    /// Bytes to send, or the most to accept.
    var length: UInt16
}

enum USBControlReply: Hashable {
    case done([UInt8])
    /// The device does not know the request.
    case stalled
    case timedOut
    /// The device has left the bus.
    case gone
    case failed(String)
}
