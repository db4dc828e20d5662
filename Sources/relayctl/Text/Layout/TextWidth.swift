import SDLProtocol

/// Measures the terminal columns of a text, and shortens or pads it. Used by `Table` and `StatusText`.
extension String {
    /// Columns on a terminal; East Asian wide characters and emoji take two.
    var columns: Int { terminalColumns }

    /// Padded with spaces to `width` columns; unchanged when it is wider.
    func padded(to width: Int, alignRight: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - columns))
        return alignRight ? space + self : self + space
    }

    /// At most `width` columns, the end replaced by "…".
    func shortened(to width: Int) -> String {
        columns <= width ? self : prefix(columns: width - 1) + (width > 0 ? "…" : "")
    }

    /// At most `width` columns, the middle replaced by "…": for addresses, whose ends matter.
    func shortenedInMiddle(to width: Int) -> String {
        guard columns > width, width > 2 else { return shortened(to: width) }
        let tail = String(reversed()).prefix(columns: (width - 1) / 2)
        return prefix(columns: width - 1 - tail.columns) + "…" + String(tail.reversed())
    }

    /// As many characters as fit in `width` columns.
    func prefix(columns width: Int) -> String { prefix(terminalColumns: width) }
}
