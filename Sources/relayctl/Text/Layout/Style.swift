/// Colours and weights of terminal text, or none.
///
/// Applied last, to text that is clean and padded, because escape sequences have no width.
struct Style: Sendable, Equatable {
    let isOn: Bool

    static let plain = Style(isOn: false)
    static let coloured = Style(isOn: true)

    /// Select Graphic Rendition parameters (ECMA-48, "8.3.117"); the sixteen-colour ones, which
    /// follow the user's own palette.
    enum Look: Int, Sendable {
        case bold = 1
        case dim = 2
        case red = 31
        case green = 32
        case yellow = 33
        case blue = 34
        case cyan = 36
    }

    func callAsFunction(_ look: Look?, _ text: String) -> String {
        guard isOn, let look, !text.isEmpty else { return text }
        return "\u{1B}[\(look.rawValue)m\(text)\u{1B}[0m"
    }

    /// Applies any parameters, such as those of a colour relayd chose.
    func callAsFunction(rendition: String, _ text: String) -> String {
        guard isOn, !rendition.isEmpty, !text.isEmpty else { return text }
        return "\u{1B}[\(rendition)m\(text)\u{1B}[0m"
    }

    /// A colour for a numbered item: always the same one for a number, and a different one for its
    /// neighbours.
    func callAsFunction(colourOf number: Int, _ text: String) -> String {
        self(rendition: Self.rendition(colourOf: number), text)
    }

    static func rendition(colourOf number: Int) -> String {
        let index = Int(number.magnitude % UInt(colours.count))
        return "38;5;\(colours[index])"
    }

    /// From the 256 colours of terminals: far apart, with a contrast of at least 3.8 to both black and
    /// white (WCAG 2.1, "Contrast"), and neither the red of a failure nor the green of a success.
    private static let colours = [32, 130, 133, 30, 100, 98, 64, 132]
}
