/// Colours and weights of terminal text, or none.
///
/// Applied last, to text that is clean and has its width, because escape sequences have no width.
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
}
