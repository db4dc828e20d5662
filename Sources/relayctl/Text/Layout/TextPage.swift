import ControlAPI

/// What a text for people is fitted to: the terminal it is read on, and the moment.
struct TextLayout: Sendable {
    /// Columns a line may have, at least `minimumWidth`.
    let width: Int
    let style: Style
    /// The moment ages are counted to.
    let now: Timestamp
    let localTime: LocalTime

    /// Narrower terminals wrap by themselves.
    private static let minimumWidth = 40

    init(width: Int, style: Style, now: Timestamp, localTime: LocalTime) {
        self.width = max(width, Self.minimumWidth)
        self.style = style
        self.now = now
        self.localTime = localTime
    }
}

/// Something relayd said as text: a pure function of that and of the layout, so that tests compare
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

    /// As wide as the terminal, in the colours the user asked for.
    init(_ options: OutputOptions) {
        let output = Output.current
        self.init(width: output.size().columns, style: output.style(options.color))
    }

    var width: Int { layout.width }
    var style: Style { layout.style }
    var now: Timestamp { layout.now }
    var localTime: LocalTime { layout.localTime }
}
