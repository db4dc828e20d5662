// The terminal while `relayctl top` uses it. Only this file uses ncurses, which sends the differences
// between two screens and knows the keys and control sequences of terminals. ncurses is not thread-safe:
// all calls come from the one task that owns the screen.

import CNcurses
import Glibc
import Synchronization

/// The terminal's alternate screen, which covers the previous content.
final class TopScreen {
    /// Why a terminal cannot be used.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// ncurses' pair for each colour, created when first used.
    private var pairs: [Int: Int16] = [:]
    private let colours: Int
    private var isOpen = true
    /// Whether the terminal was released while the process is stopped.
    private var isSuspended = false

    /// Takes over the terminal of standard input and output.
    ///
    /// - Parameter terminal: The terminal type (`TERM`).
    /// - Throws: `Problem` where the terminal has no screen.
    init(terminal: String) throws(Problem) {
        // ncurses reads text in the locale's encoding; ours is always UTF-8.
        if setlocale(LC_CTYPE, "C.UTF-8") == nil { setlocale(LC_CTYPE, "") }
        guard !["", "dumb", "unknown"].contains(terminal) else {
            throw Problem(
                description: "TERM is \"\(SafeText.clean(terminal))\", a terminal without a screen")
        }
        TerminalRescue.remember()
        // `fitSize` determines the size: ncurses would accept any, also from the environment.
        use_env(false)
        // A terminal unknown to this system, such as a new emulator at the other end of ssh, most likely
        // behaves like xterm.
        let names = [terminal, "xterm-256color", "xterm"]
        guard names.contains(where: { name in name.withCString(relay_screen_open) == 0 })
        else {
            throw Problem(
                description:
                    "ncurses knows no terminal \"\(SafeText.clean(terminal))\" (TERM), and no xterm"
            )
        }
        guard relay_screen_is_addressable() != 0 else {
            endwin()
            throw Problem(
                description:
                    "the terminal \"\(SafeText.clean(terminal))\" (TERM) cannot move its cursor")
        }
        relay_screen_set_keys()
        // Milliseconds after which an Esc without a following character is a key of its own.
        set_escdelay(100)
        curs_set(0)
        start_color()
        use_default_colors()
        colours = has_colors() ? Int(relay_screen_colours()) : 0
        TerminalRescue.arm()
        fitSize()
    }

    deinit { close() }

    /// Restores the terminal.
    func close() {
        guard isOpen else { return }
        isOpen = false
        if !isSuspended {
            // While ^S holds the screen, `endwin` would wait for ^Q.
            tcflow(STDOUT_FILENO, TCOON)
            TerminalRescue.unlessCrashed { endwin() }
        }
        TerminalRescue.disarm()
    }

    // MARK: Size

    private(set) var rows = 24
    private(set) var columns = 80

    /// More than any screen has; ncurses crashes when a terminal claims 65,535 of each.
    private static let most = (rows: 1000, columns: 2000)

    /// Reads the size of the terminal.
    func fitSize() {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
        else { return }
        rows = min(Int(size.ws_row), Self.most.rows)
        columns = min(Int(size.ws_col), Self.most.columns)
        resizeterm(Int32(rows), Int32(columns))
    }

    // MARK: Drawing

    func draw(_ frame: TopFrame) {
        TerminalRescue.unlessCrashed { send(frame) }
    }

    private func send(_ frame: TopFrame) {
        for row in 0..<rows {
            move(Int32(row), 0)
            relay_screen_set_look(relay_screen_attribute(0), 0)
            // Also clears overflow from the line above, if its characters are wider than expected.
            clrtoeol()
            guard row < frame.lines.count else { continue }
            for run in ColouredText(frame.lines[row]).runs {
                set(rendition: run.rendition)
                addstr(run.text)
            }
        }
        if let cursor = frame.cursor {
            curs_set(1)
            move(Int32(cursor.row), Int32(cursor.column))
        } else {
            curs_set(0)
        }
        refresh()
    }

    /// Makes the next `draw` send everything: something else has written on the terminal.
    func forget() {
        relay_screen_forget()
    }

    /// Sets colour and attributes from the parameters of SGR (ECMA-48), as `Style` and relayd write them.
    private func set(rendition: String) {
        var attributes = relay_screen_attribute(0)
        var colour: Int?
        var numbers = rendition.split(separator: ";").compactMap { Int($0) }[...]
        while let number = numbers.popFirst() {
            switch number {
            case 1, 2, 4, 7: attributes |= relay_screen_attribute(Int32(number))
            case 30...37: colour = number - 30
            case 90...97: colour = number - 90 + 8
            case 38 where numbers.first == 5:
                colour = numbers.dropFirst().first
                numbers = numbers.dropFirst(2)
            default: break
            }
        }
        relay_screen_set_look(attributes, colour.map(pair) ?? 0)
    }

    /// ncurses' pair for this colour on the terminal's own background; 0 if there is none.
    private func pair(of wanted: Int) -> Int16 {
        guard colours >= 8, (0..<256).contains(wanted) else { return 0 }
        // On terminals with eight colours: yellow, blue, magenta or cyan, which mean neither failure nor
        // success.
        let colour = wanted < colours ? wanted : wanted < 16 ? wanted % 8 : 3 + wanted % 4
        if let pair = pairs[colour] { return pair }
        let next = pairs.count + 1
        guard next < Int(relay_screen_pairs()), let pair = Int16(exactly: next),
            init_pair(pair, Int16(colour), -1) == OK
        else { return 0 }
        pairs[colour] = pair
        return pair
    }

    // MARK: Keys

    /// Returns the keys pressed since the last call.
    func keys() -> [TopKey] {
        // ncurses may also draw when it reads keys.
        TerminalRescue.unlessCrashed(readKeys) ?? []
    }

    private func readKeys() -> [TopKey] {
        var keys: [TopKey] = []
        var code: wint_t = 0
        // A long paste is read in parts.
        while keys.count < 1000 {
            let kind = get_wch(&code)
            guard kind != ERR else { break }
            let key = kind == KEY_CODE_YES ? Self.function(Int32(code)) : Self.letter(UInt32(code))
            if let key { keys.append(key) }
        }
        return keys
    }

    private static func function(_ code: Int32) -> TopKey? {
        switch code {
        case KEY_UP: .up
        case KEY_DOWN: .down
        case KEY_LEFT: .left
        case KEY_RIGHT: .right
        case KEY_PPAGE: .pageUp
        case KEY_NPAGE: .pageDown
        case KEY_HOME: .home
        case KEY_END: .end
        case KEY_ENTER: .enter
        case KEY_BACKSPACE: .backspace
        case KEY_DC: .delete
        default: nil
        }
    }

    private static func letter(_ code: UInt32) -> TopKey? {
        switch code {
        case 0x0A, 0x0D: return .enter
        case 0x1B: return .escape
        case 0x08, 0x7F: return .backspace
        case 0x0C: return .redraw
        case 0x15: return .deleteLine
        case 0x17: return .deleteWord
        case 0x01: return .home
        case 0x05: return .end
        default:
            guard code >= 0x20, let scalar = Unicode.Scalar(code) else { return nil }
            let text = SafeText.clean(String(scalar))
            return text.first.map { .character($0) }
        }
    }

    // MARK: Standing aside

    /// Releases the terminal while the process is stopped.
    func suspend() {
        TerminalRescue.unlessCrashed { endwin() }
        isSuspended = true
    }

    /// Takes over the terminal again; its settings may have changed.
    func resume() {
        isSuspended = false
        relay_screen_forget()
        fitSize()
        TerminalRescue.unlessCrashed { refresh() }
    }
}

/// Writes the numbers of signals to a pipe, so that one thread can wait for them and for keys.
enum TopSignals {
    /// Signals that end the program after the terminal has been restored.
    static let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    private static let pipe = Atomic<Int32>(-1)

    /// Starts catching the signals.
    ///
    /// - Returns: The descriptor to read their numbers from, one byte each; nil if there is no descriptor
    ///   left.
    static func start() -> Int32? {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // Neither the handler nor the reader may block.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        pipe.store(ends[1], ordering: .releasing)
        for number in ending + [SIGWINCH, SIGCONT] { signal(number, handler) }
        catchStop()
        return ends[0]
    }

    private static func catchStop() { signal(SIGTSTP, handler) }

    /// Whether another job of the shell has the terminal.
    static var isInBackground: Bool {
        let owner = tcgetpgrp(STDOUT_FILENO)
        return owner >= 0 && owner != getpgrp()
    }

    /// Only calls that are allowed in a signal handler (signal-safety(7)).
    private static let handler: @convention(c) (Int32) -> Void = { number in
        let error = errno
        // As in `TopScreen.close`, which is not reached while drawing is blocked.
        if number == SIGTERM || number == SIGHUP, !TopSignals.isInBackground {
            tcflow(STDOUT_FILENO, TCOON)
        }
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(TopSignals.pipe.load(ordering: .acquiring), &byte, 1)
        errno = error
    }

    /// Stops this process as the uncaught signal does; returns when the process is continued.
    static func stop(by number: Int32) {
        OwnSignal.send(number)
        if number == SIGTSTP { catchStop() }
    }
}

/// Restores the terminal when the program crashes.
private enum TerminalRescue {
    /// Address of the terminal's original settings, never freed; 0 if there are none.
    private static let settings = Atomic<UInt>(0)
    private static let crashes = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT]
    /// Main screen, visible cursor, no colours, plain keys, in xterm's control sequences, which nearly
    /// all terminals understand.
    private static let sequence: StaticString =
        "\u{1B}[?1049l\u{1B}[?25h\u{1B}[0m\u{1B}[?1l\u{1B}>\r\n"

    static func remember() {
        guard settings.load(ordering: .acquiring) == 0 else { return }
        let space = UnsafeMutablePointer<termios>.allocate(capacity: 1)
        space.initialize(to: termios())
        tcgetattr(STDIN_FILENO, space)
        settings.store(UInt(bitPattern: space), ordering: .releasing)
    }

    /// Who writes to the terminal: 0 nobody, 1 ncurses, 2 the handler, permanently.
    private static let writer = Atomic<UInt8>(0)

    /// Runs code that may write to the terminal, unless the handler has restored it: a crash on another
    /// thread does not stop this one at once.
    ///
    /// - Returns: Nil after a crash.
    @discardableResult
    static func unlessCrashed<Result>(_ draw: () -> Result) -> Result? {
        let (mayDraw, _) = writer.compareExchange(expected: 0, desired: 1, ordering: .acquiring)
        guard mayDraw else { return nil }
        defer { _ = writer.compareExchange(expected: 1, desired: 0, ordering: .releasing) }
        return draw()
    }

    /// Waits until ncurses is not writing, at most a tenth of a second: ncurses itself may have crashed.
    private static func takeTerminal() {
        for _ in 0..<100 {
            let (isTaken, _) = writer.compareExchange(
                expected: 0, desired: 2, ordering: .acquiring)
            if isTaken { return }
            // One of the few waits that a signal handler may use.
            poll(nil, 0, 1)
        }
        writer.store(2, ordering: .releasing)
    }

    static func arm() {
        for number in crashes { signal(number, handler) }
    }

    static func disarm() {
        for number in crashes { signal(number, SIG_DFL) }
    }

    private static let handler: @convention(c) (Int32) -> Void = { number in
        TerminalRescue.takeTerminal()
        let address = TerminalRescue.settings.load(ordering: .acquiring)
        if let settings = UnsafePointer<termios>(bitPattern: address) {
            tcsetattr(STDIN_FILENO, TCSANOW, settings)
        }
        let sequence = TerminalRescue.sequence
        _ = write(STDOUT_FILENO, sequence.utf8Start, sequence.utf8CodeUnitCount)
        signal(number, SIG_DFL)
        raise(number)
    }
}
