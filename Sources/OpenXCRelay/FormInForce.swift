import OpenXCProtocol

/// The payload format to write to a vehicle interface: the one that it speaks itself, ignoring strays.
/// Emulator builds of firmware 8.1 and 8.2 write long diagnostic answers as JSON even when protobuf is in force.
struct FormInForce {
    /// Nil until the vehicle interface has sent something.
    private(set) var format: PayloadFormat?
    /// Consecutive messages in the other form.
    private var strays = 0

    private static let maximumStrays = 3

    mutating func heard(_ message: VehicleMessage, in spoken: PayloadFormat?) {
        guard let spoken else { return }
        guard spoken != format else {
            strays = 0
            return
        }
        switch message.content {
        // Responses always come in the form in force.
        case .response: strays = Self.maximumStrays
        case .diagnostic(let response) where response.isSegment && format != nil: return
        default: strays += 1
        }
        guard format == nil || strays >= Self.maximumStrays else { return }
        (format, strays) = (spoken, 0)
    }
}
