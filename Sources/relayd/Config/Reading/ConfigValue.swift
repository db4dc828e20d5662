/// A value as the user wrote it, with its origin: the common form of file, environment and flags.
/// `ConfigReader` turns it into a typed value.
package struct ConfigValue: Sendable, Equatable {
    package enum Form: Sendable, Equatable {
        /// Text; `quoted` when the user said that it is text and not a number or a word.
        case scalar(String, quoted: Bool)
        case list([ConfigValue])
        case mapping
        /// The key has no value (`accessory:` and the end of the line).
        case nothing
        /// `!Name` without quotes, which YAML reads as a tag and not as text.
        case tag(String)
    }

    package var form: Form
    package var origin: ConfigOrigin

    package init(_ form: Form, at origin: ConfigOrigin) {
        self.form = form
        self.origin = origin
    }

    /// What was found, for a message: short, on one line, quoted if it is text.
    package var summary: String {
        switch form {
        case .scalar(let text, _): Self.shown(text)
        case .list: "a list"
        case .mapping: "a section (\"key: value\" lines)"
        case .nothing: "nothing"
        case .tag(let name): "the YAML tag \(Self.visible(name))"
        }
    }

    /// Text in quotes, cut at 60 characters, control characters made visible.
    package static func shown(_ text: String) -> String { "\"\(visible(text))\"" }

    /// Text cut at 60 characters, control characters made visible.
    package static func visible(_ text: String) -> String {
        let cut = text.prefix(60)
        return LogText.oneLine(String(cut)) + (cut.endIndex == text.endIndex ? "" : "…")
    }
}
