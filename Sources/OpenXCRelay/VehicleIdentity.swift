import OpenXCProtocol

/// What the vehicle interface reports about itself, for status.
package struct VehicleIdentity: Sendable {
    /// Questions asked when the link opens. What is not answered stays unknown.
    static let questions: [Command] = [.platform, .version]

    package private(set) var platform: String?
    package private(set) var version: String?
    /// Known once a client has asked.
    package private(set) var deviceID: String?
    package private(set) var vin: String?
    private var hasAskedAgain = false

    mutating func heard(_ response: CommandResponse) {
        guard response.status, !response.message.isEmpty else { return }
        switch response.command {
        case .platform: platform = Self.short(response.message)
        case .version: version = Self.short(response.message)
        case .deviceID: deviceID = Self.short(response.message)
        case .vin: vin = Self.short(response.message)
        default: break
        }
    }

    /// Whether to repeat the questions, once: the first ones are in JSON, before the form is known.
    func isWorthAskingAgain(in format: PayloadFormat?) -> Bool {
        !hasAskedAgain && version == nil && format == .protobuf
    }

    mutating func askedAgain() { hasAskedAgain = true }

    var knows: Bool { platform != nil || version != nil }

    /// For example, `FORDBOARD 8.2.1 (default)`.
    var description: String {
        [platform, version].compactMap { $0 }.joined(separator: " ")
    }

    private static func short(_ text: String) -> String { String(text.prefix(64)) }
}
