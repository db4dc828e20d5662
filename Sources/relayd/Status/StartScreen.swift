import ControlAPI
import Glibc
import Synchronization

/// The first screen for a person who starts relayd on a terminal: where the head unit is, where apps
/// connect, where the dashboard is, and what to type next. A pure function of values;
/// `StartScreenPrinter` shows it once.
struct StartScreen: Sendable {
    /// Where the head unit is, the state of its link in words, and whether the link is well.
    var headUnit: (address: String, state: String, isWell: Bool)
    /// The accessory is a vehicle interface.
    var isVehicle = false
    /// Where apps connect; addresses a phone can use come first.
    var addresses: [String]
    /// The address with its token; nil if there is no dashboard.
    var dashboard: String?
    /// The path of the control socket, if relayctl does not find it by itself.
    var socket: String?

    /// "  head unit   ": the longest label and some space.
    private static let labelColumns = 14
    private static let gap = 3

    private struct Row {
        var label: String
        var value: String
        var comment = ""
        /// A shorter comment for a terminal where the other does not fit.
        var shorter: String?
        var look: Look = .plain

        /// nil if there is no room.
        func comment(within columns: Int) -> String? {
            [comment, shorter ?? comment].first { $0.unicodeScalars.count <= columns }
        }
    }

    private enum Look: String {
        case plain = ""
        case green = "\u{1B}[32m"
        case yellow = "\u{1B}[33m"
    }

    /// One line for each item, and more on a narrow terminal: a comment that does not fit goes below its
    /// item. An address is never cut.
    ///
    /// - Parameter width: of the terminal, in columns.
    func lines(width: Int, isColoured: Bool) -> [String] {
        let rows = [headUnitRow, appRow, dashboardRow, moreRow]
        let column =
            rows.filter { !$0.comment.isEmpty }.map(\.value.unicodeScalars.count).max() ?? 0
        var lines = [Self.bold("relayd \(Version.current)", isColoured)]
        for row in rows {
            let label = "  " + Self.padded(row.label, to: Self.labelColumns - 2)
            let below = width - Self.labelColumns
            let fitting = row.comment(within: below - column - Self.gap)
            let words = fitting ?? row.comment(within: below) ?? row.comment
            let comment =
                isColoured && row.look != .plain
                ? "\(row.look.rawValue)\(words)\u{1B}[0m" : words
            let line = Self.bold(label, isColoured) + row.value
            if row.comment.isEmpty {
                lines.append(line)
            } else if fitting != nil {
                let blanks = column - row.value.unicodeScalars.count + Self.gap
                lines.append(line + String(repeating: " ", count: blanks) + comment)
            } else {
                lines.append(line)
                lines.append(String(repeating: " ", count: Self.labelColumns) + comment)
            }
        }
        return lines
    }

    private var headUnitRow: Row {
        let address = LogText.oneLine(headUnit.address)
        return Row(
            label: isVehicle ? "vehicle" : "head unit",
            value: address.hasPrefix("sim:") ? "simulated (\(address))" : address,
            comment: LogText.oneLine(headUnit.state), look: headUnit.isWell ? .green : .yellow)
    }

    private var appRow: Row {
        let label = isVehicle ? "clients" : "your app"
        guard let first = addresses.first else {
            return Row(label: label, value: "cannot connect", comment: "relayctl server on")
        }
        let isLocal = addresses.allSatisfy { $0.hasPrefix("127.") || $0.hasPrefix("[::1]") }
        let port = first.split(separator: ":").last ?? "2776"
        let more = addresses.count - 1
        var row = Row(label: label, value: "connect to \(first)")
        if isLocal {
            row.shorter = "\(isVehicle ? "others" : "phones"): --listen 0.0.0.0:\(port)"
            row.comment = "this machine only; " + (row.shorter ?? "")
        } else if more > 0 {
            row.comment = "relayctl status has \(more) more"
        }
        return row
    }

    private var dashboardRow: Row {
        Row(label: "dashboard", value: dashboard ?? "off; relayctl dashboard has the reason")
    }

    private var moreRow: Row {
        let socket = socket.map { " --socket \(LogText.oneLine($0))" } ?? ""
        let commands = isVehicle ? "vi · status · doctor" : "status · tail · doctor"
        return Row(label: "more", value: "relayctl\(socket) \(commands)")
    }

    private static func bold(_ text: String, _ isColoured: Bool) -> String {
        isColoured ? "\u{1B}[1m\(text)\u{1B}[0m" : text
    }

    private static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - text.unicodeScalars.count))
    }
}

/// Shows the first screen once: when the state of the head unit's link is known, or a moment after relayd
/// is ready. Armed by `Daemon`, triggered by the link's supervisor.
final class StartScreenPrinter: Sendable {
    /// Long enough for an available link to open, short enough not to be felt as a wait.
    static let patience = Duration.milliseconds(300)

    private let pending = Mutex<(@Sendable () -> Void)?>(nil)

    func arm(_ print: @escaping @Sendable () -> Void) {
        pending.withLock { $0 = print }
    }

    /// Shows the screen the first time; later calls do nothing.
    func show() {
        let print = pending.withLock { pending in
            defer { pending = nil }
            return pending
        }
        print?()
    }

    /// Columns of the descriptor's terminal; nil if it is not a terminal.
    static func columns(of descriptor: CInt) -> Int? {
        guard isatty(descriptor) == 1 else { return nil }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
