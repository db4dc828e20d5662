/// How a head unit introduces itself before it starts accessory mode: up to six strings, by their index (Android's
/// AOA documentation). They come from outside and go to the log and the status.
package struct HeadUnitIntroduction: Hashable, Sendable {
    /// Manufacturer, model, description, version, URI, serial number.
    package static let count = 6

    private var strings = [String?](repeating: nil, count: Self.count)

    package init() {}

    package var manufacturer: String? { strings[0] }
    package var model: String? { strings[1] }
    package var version: String? { strings[3] }

    /// How many of the six it has sent.
    package var said: Int { strings.count { $0 != nil } }

    /// - Parameter bytes: With or without a zero byte at the end; sdl_core sends none.
    /// - Returns: Whether AOA has a string with this index.
    package mutating func set(_ index: UInt16, _ bytes: [UInt8]) -> Bool {
        guard index < Self.count else { return false }
        strings[Int(index)] = Self.text(bytes)
        return true
    }

    /// `SDL Core 1.0`; nil when it has sent none of these.
    package var name: String? {
        let parts = [strings[0], strings[1], strings[3]].compactMap { $0 }.filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    /// `SDL Core 1.0, SmartDeviceLink Core Component USB, serial N000000`; nil when it has sent nothing.
    package var words: String? {
        var parts = name.map { [$0] } ?? []
        if let description = strings[2], !description.isEmpty { parts.append(description) }
        if let uri = strings[4], !uri.isEmpty { parts.append(uri) }
        if let serial = strings[5], !serial.isEmpty { parts.append("serial \(serial)") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// One line of text, whatever the bytes.
    private static func text(_ bytes: [UInt8]) -> String {
        let scalars = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self).unicodeScalars
        var text = String.UnicodeScalarView()
        for scalar in scalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
                text.append(" ")
            default: text.append(scalar)
            }
        }
        return String(text)
    }
}
