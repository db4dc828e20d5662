/// Breaks text into lines of a given width. Used by `StatusText`.
enum Paragraph {
    /// Puts `parts` side by side, two spaces apart, and starts a new line when one does not fit; a part
    /// wider than a line loses its middle, unless it must stay whole.
    ///
    /// - Parameters:
    ///   - used: Columns already taken in the first line.
    ///   - width: Columns of a line.
    ///   - indent: Columns to leave free at the start of every further line.
    ///   - keepsWhole: Whether a part wider than a line runs past its end, where the terminal wraps it.
    static func flow(
        _ parts: [String], used: Int = 0, width: Int, indent: Int, gap: String = "  ",
        keepsWhole: Bool = false
    ) -> [String] {
        let room = max(1, width - indent)
        var lines = [""]
        var column = used
        for part in parts where !part.isEmpty {
            let part = keepsWhole ? part : part.shortenedInMiddle(to: max(room, width - used))
            let separator = lines[lines.count - 1].isEmpty ? "" : gap
            if column + separator.columns + part.columns <= width {
                lines[lines.count - 1] += separator + part
                column += separator.columns + part.columns
            } else {
                let part = keepsWhole ? part : part.shortenedInMiddle(to: room)
                lines.append(part)
                column = indent + part.columns
            }
        }
        let margin = String(repeating: " ", count: indent)
        return [lines[0]] + lines.dropFirst().map { margin + $0 }
    }

    /// Breaks a sentence at its spaces.
    ///
    /// - Parameter keepsWhole: Whether words wider than a line stay as they are: commands and paths that
    ///   will be copied.
    static func words(
        _ text: String, used: Int, width: Int, indent: Int, keepsWhole: Bool = false
    ) -> [String] {
        flow(
            text.split(separator: " ").map(String.init), used: used, width: width, indent: indent,
            gap: " ", keepsWhole: keepsWhole)
    }
}
