/// A remedy as lines for a terminal: sentences are wrapped, a line to be copied into a file is not. Used
/// by `StatusText` and `Diagnosis`.
enum RemedyText {
    /// Start of a udev rule, which has to be on one line in its file.
    private static let rule = "SUBSYSTEM=="

    /// The lines, all indented, with an arrow in front of the first.
    static func lines(_ remedy: String, width: Int, indent: Int) -> [String] {
        let text = SafeText.line(remedy)
        let start = text.firstRange(of: rule)?.lowerBound ?? text.endIndex
        var lines = Paragraph.words(
            "→ " + text[..<start], used: indent, width: width, indent: indent, keepsWhole: true)
        let margin = String(repeating: " ", count: indent)
        lines[0] = margin + lines[0]
        // The terminal wraps the rule without adding anything.
        if start < text.endIndex { lines.append(String(text[start...])) }
        return lines
    }
}
