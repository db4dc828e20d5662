import ControlAPI

/// What a text for people is fitted to: the terminal it is read on, and the current moment.
struct TextLayout: Sendable {
    /// Columns of a line, at least `minimumWidth`.
    let width: Int
    let style: Style
    /// The moment that ages are measured to.
    let now: Timestamp
    let localTime: LocalTime

    /// Narrower terminals wrap the lines.
    private static let minimumWidth = 40

    init(width: Int, style: Style, now: Timestamp, localTime: LocalTime) {
        self.width = max(width, Self.minimumWidth)
        self.style = style
        self.now = now
        self.localTime = localTime
    }
}

/// A text made from relayd's data: a pure function of that and of the layout, so that tests can compare
/// whole screens.
protocol TextPage: Sendable {
    var layout: TextLayout { get }
    init(layout: TextLayout)
}

extension TextPage {
    init(
        width: Int, style: Style = .plain, now: Timestamp = .now, localTime: LocalTime = .system
    ) {
        self.init(layout: TextLayout(width: width, style: style, now: now, localTime: localTime))
    }

    /// A layout as wide as the terminal, in the colours the user asked for.
    init(_ options: OutputOptions) {
        let output = Output.current
        self.init(width: output.size().columns, style: output.style(options.color))
    }

    var width: Int { layout.width }
    var style: Style { layout.style }
    var now: Timestamp { layout.now }
    var localTime: LocalTime { layout.localTime }
}
