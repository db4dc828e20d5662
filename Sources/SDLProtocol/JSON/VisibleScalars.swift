/// Which characters of a peer's text people get to see, and which move a cursor, turn text around
/// or make two different names look the same: one rule for the log, the tool and the control API.
/// Used by `PrintableText`, and by relayd's and relayctl's own texts.
///
/// By Unicode's general category, control characters, format characters (directional marks, zero-width
/// spaces, tags) and line separators are hidden, and so is what Unicode calls ignorable (fillers,
/// variation selectors). Two of these are part of emoji and shown there: ZERO WIDTH JOINER between two
/// emoji, and the variation selectors after one.
public struct VisibleScalars: Sendable {
    private static let joiner: Unicode.Scalar = "\u{200D}"

    private var isAfterEmoji = false
    /// Whether a joiner waits for the character after it.
    private var holdsJoiner = false

    public init() {}

    /// Takes the next character of a text, and passes it on with whether it is visible; a joiner is
    /// passed on only with the character after it.
    public mutating func push(
        _ scalar: Unicode.Scalar, _ body: (_ scalar: Unicode.Scalar, _ isVisible: Bool) -> Void
    ) {
        if holdsJoiner {
            holdsJoiner = false
            let joins = Self.isEmoji(scalar)
            body(Self.joiner, joins)
            if !joins { isAfterEmoji = false }
        }
        if scalar == Self.joiner, isAfterEmoji {
            holdsJoiner = true
        } else if Self.isEmojiVariation(scalar) {
            // Stays behind the emoji, for a joiner after it.
            body(scalar, isAfterEmoji)
        } else {
            isAfterEmoji = scalar.properties.isEmoji
            body(scalar, !Self.isInvisible(scalar))
        }
    }

    /// Ends the text.
    public mutating func finish(
        _ body: (_ scalar: Unicode.Scalar, _ isVisible: Bool) -> Void
    ) {
        if holdsJoiner { body(Self.joiner, false) }
        self = VisibleScalars()
    }

    /// Whether a character is hidden wherever it stands; the joiner counts as hidden, the variation
    /// selectors of emoji do not.
    public static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        // Looking properties up would take longer than everything else that is done with a text.
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default:
            return properties.isDefaultIgnorableCodePoint && !isEmojiVariation(scalar)
        }
    }

    /// VARIATION SELECTOR-15 and -16: as text, and as a picture.
    private static func isEmojiVariation(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0xFE0E || scalar.value == 0xFE0F
    }

    /// Digits and © are emoji to Unicode, too, but nothing is joined to them.
    private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value > 0x2000 && scalar.properties.isEmoji
    }
}
