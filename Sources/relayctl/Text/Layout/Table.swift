/// Rows under a heading, with columns as wide as needed or as narrow as necessary.
///
/// `StatusText` fills it; cells must be clean (`SafeText`).
struct Table: Sendable {
    struct Column: Sendable {
        let title: String
        var cells: [String]
        let alignRight: Bool
        /// Rendition of each cell (ECMA-48, "8.3.117"); "" is none. Empty when no cell has one.
        let renditions: [String]
        /// Minimum width in columns, so that the column stays in place while its cells change.
        var minimum: Int

        init(
            _ title: String, _ cells: [String], alignRight: Bool = false, minimum: Int = 0,
            renditions: [String] = []
        ) {
            self.title = title
            self.cells = cells
            self.alignRight = alignRight
            self.minimum = minimum
            self.renditions = renditions
        }

        var width: Int {
            max(minimum, title.columns, cells.map(\.columns).max() ?? 0)
        }
    }

    /// A way to make the table narrower; the least harmful ones come first.
    enum Sacrifice: Sendable {
        case drop(String)
        case dropIfAll(String, String)
        case replace(String, with: [String])
        /// Cuts off the end of cells wider than this.
        case shorten(String, to: Int)
        /// Cuts out the middle of cells wider than this.
        case shortenInMiddle(String, to: Int)
    }

    var columns: [Column]
    /// Spaces before each row.
    static let indent = 2
    /// Spaces between columns.
    static let gap = 2

    init(_ columns: [Column]) { self.columns = columns }

    var width: Int {
        Self.indent + columns.map(\.width).reduce(0, +) + Self.gap * max(0, columns.count - 1)
    }

    /// The table after as few sacrifices as are needed to fit `width` columns.
    func fitted(to width: Int, _ sacrifices: [Sacrifice]) -> Table {
        var table = self
        for sacrifice in sacrifices where table.width > width {
            table.make(sacrifice, needing: table.width - width)
        }
        return table
    }

    private mutating func make(_ sacrifice: Sacrifice, needing excess: Int) {
        switch sacrifice {
        case .drop(let title):
            columns.removeAll { $0.title == title }
        case .dropIfAll(let title, let value):
            columns.removeAll { $0.title == title && $0.cells.allSatisfy { $0 == value } }
        case .replace(let title, let cells):
            change(title) { $0.cells = cells }
        case .shorten(let title, let minimum):
            change(title) { column in
                let width = max(minimum, column.width - excess)
                column.minimum = min(column.minimum, width)
                column.cells = column.cells.map { $0.shortened(to: width) }
            }
        case .shortenInMiddle(let title, let minimum):
            change(title) { column in
                let width = max(minimum, column.width - excess)
                column.cells = column.cells.map { $0.shortenedInMiddle(to: width) }
            }
        }
    }

    private mutating func change(_ title: String, _ body: (inout Column) -> Void) {
        for index in columns.indices where columns[index].title == title { body(&columns[index]) }
    }

    /// Heading first, then one line per row.
    func lines(_ style: Style) -> [String] {
        [style(.bold, heading)] + rows(style)
    }

    var heading: String { line(.plain, { $0.title }, { _ in "" }) }

    func rows(_ style: Style) -> [String] {
        let rows = columns.map(\.cells.count).max() ?? 0
        return (0..<rows).map { row in
            line(style, { $0.cells[row] }, { $0.renditions.isEmpty ? "" : $0.renditions[row] })
        }
    }

    private func line(
        _ style: Style, _ cell: (Column) -> String, _ rendition: (Column) -> String
    ) -> String {
        var text = String(repeating: " ", count: Self.indent)
        for (index, column) in columns.enumerated() {
            let words = cell(column)
            let room = String(repeating: " ", count: max(0, column.width - words.columns))
            let shown = style(rendition: rendition(column), words)
            text += column.alignRight ? room + shown : shown + room
            if index < columns.count - 1 { text += String(repeating: " ", count: Self.gap) }
        }
        while text.last == " " { text.removeLast() }
        return text
    }
}
