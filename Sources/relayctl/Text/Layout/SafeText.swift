import SDLProtocol

/// Text from apps and head units, made safe for a terminal.
///
/// Everything relayctl shows as text passes through `clean`, and everything it passes on as JSON through
/// `JSONText`: an app may have any name, including the sequence that retitles the window or repaints the
/// lines above.
enum SafeText {
    /// Longest piece kept, in Unicode scalars: no name needs more, and a thousand combining marks
    /// on one letter would smear over the lines around it.
    static let maximumScalars = 256

    /// Removes whole escape sequences, then every other control or invisible formatting character; line
    /// breaks and tabs become spaces. Longer text ends in "…".
    static func clean(_ text: String) -> String {
        var kept = String.UnicodeScalarView()
        var visible = VisibleScalars()
        func put(_ scalar: Unicode.Scalar, _ isVisible: Bool) {
            if isVisible { kept.append(scalar) }
        }
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            guard kept.count < maximumScalars else {
                kept.removeLast()
                kept.append("…")
                break
            }
            switch scalar.value {
            case 0x1B: skipEscapeSequence(&scalars)
            case 0x9B: skipControlSequence(&scalars)
            case 0x90, 0x98, 0x9D, 0x9E, 0x9F: skipControlString(&scalars)
            case 0x09...0x0D, 0x85, 0x2028, 0x2029: visible.push(" ", put)
            default: visible.push(scalar, put)
            }
        }
        return String(kept)
    }

    /// A whole line from relayd, of any length, in which relayd has already made the text of apps safe:
    /// besides text it may contain only colours, and those only on request.
    static func line(_ text: String, keepingColours: Bool = false) -> String {
        // True of most lines.
        if text.unicodeScalars.allSatisfy(isHarmless) { return text }
        var kept = String.UnicodeScalarView()
        var visible = VisibleScalars()
        func put(_ scalar: Unicode.Scalar, _ isVisible: Bool) {
            if isVisible { kept.append(scalar) }
        }
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            switch scalar.value {
            case 0x1B:
                let colour = colour(&scalars)
                visible.finish(put)
                if keepingColours { kept.append(contentsOf: colour) }
            case 0x9B: skipControlSequence(&scalars)
            case 0x90, 0x98, 0x9D, 0x9E, 0x9F: skipControlString(&scalars)
            case 0x09...0x0D, 0x85, 0x2028, 0x2029: visible.push(" ", put)
            default: visible.push(scalar, put)
            }
        }
        return String(kept)
    }

    /// A whole sequence that only sets a colour (ECMA-48, "8.3.117"); empty for other sequences, which
    /// are skipped.
    private static func colour(_ scalars: inout Iterator) -> String.UnicodeScalarView {
        var ahead = scalars
        var colour = String.UnicodeScalarView("\u{1B}[".unicodeScalars)
        if ahead.next() == "[" {
            while let scalar = ahead.next(),
                scalar == ";" || ("0"..."9").contains(scalar)
                    || scalar == "m"
            {
                colour.append(scalar)
                if scalar == "m" {
                    scalars = ahead
                    return colour
                }
            }
        }
        skipEscapeSequence(&scalars)
        return .init()
    }

    /// Whether a character is visible in any context.
    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value != 0xFE0E && scalar.value != 0xFE0F && !VisibleScalars.isInvisible(scalar)
    }

    // Lengths of sequences by ECMA-48: "5.4 Control sequences", "5.6 Control strings".

    private typealias Iterator = String.UnicodeScalarView.Iterator

    private static func skipEscapeSequence(_ scalars: inout Iterator) {
        while let scalar = scalars.next() {
            switch scalar {
            case "[": return skipControlSequence(&scalars)
            case "]", "P", "X", "^", "_": return skipControlString(&scalars)
            case "\u{20}"..."\u{2F}": continue
            default: return
            }
        }
    }

    private static func skipControlSequence(_ scalars: inout Iterator) {
        while let scalar = scalars.next() {
            if !("\u{20}"..."\u{3F}").contains(scalar) { return }
        }
    }

    private static func skipControlString(_ scalars: inout Iterator) {
        while let scalar = scalars.next() {
            switch scalar {
            case "\u{07}", "\u{9C}": return
            case "\u{1B}":
                _ = scalars.next()
                return
            default: continue
            }
        }
    }
}
