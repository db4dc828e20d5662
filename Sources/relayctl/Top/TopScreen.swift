// The terminal while `relayctl top` has it. The only file that knows ncurses, which sends what changed
// between two screens, and knows the keys and the sequences of terminals. None of its functions is called
// by two threads at once: all are called by the task that has the screen.

import CNcurses
import Glibc
import Synchronization

/// A terminal with a screen of its own, in front of what was there before.
final class TopScreen {
    /// Why a terminal cannot be used.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// Colours and their pairs in ncurses, made as they come.
    private var pairs: [Int: Int16] = [:]
    private let colours: Int
    private var isOpen = true
    /// The terminal is with whoever had it before.
    private var isSuspended = false

    /// Takes the terminal of standard input and output.
    ///
    /// - Parameter terminal: Which one it is (`TERM`).
    /// - Throws: `Problem` where the terminal has no screen.
    init(terminal: String) throws(Problem) {
        // ncurses takes text for what the locale says; ours is UTF-8, whatever the locale.
        if setlocale(LC_CTYPE, "C.UTF-8") == nil { setlocale(LC_CTYPE, "") }
        guard !["", "dumb", "unknown"].contains(terminal) else {
            throw Problem(
                description: "TERM is \"\(SafeText.clean(terminal))\", a terminal without a screen")
        }
        TerminalRescue.remember()
        // Sizes are asked for here: ncurses would take any, also from the environment.
        use_env(false)
        // What this system does not know, as a new emulator at the other end of ssh, is most likely one
        // that does what xterm does.
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
        // Esc is known to be a key by itself when nothing follows it for so many milliseconds.
        set_escdelay(100)
        curs_set(0)
        start_color()
        use_default_colors()
        colours = has_colors() ? Int(relay_screen_colours()) : 0
        TerminalRescue.arm()
        fitSize()
    }

    deinit { close() }

    /// Gives the terminal back as it was.
    func close() {
        guard isOpen else { return }
        isOpen = false
        if !isSuspended {
            // A screen that ^S holds would wait for ^Q before it ends.
            tcflow(STDOUT_FILENO, TCOON)
            endwin()
        }
        TerminalRescue.disarm()
    }

    // MARK: Size

    private(set) var rows = 24
    private(set) var columns = 80

    /// More than any screen has; ncurses crashes where a terminal claims 65,535 of each.
    private static let most = (rows: 1000, columns: 2000)

    /// Asks how large the terminal is.
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
        for row in 0..<rows {
            move(Int32(row), 0)
            relay_screen_set_look(relay_screen_attribute(0), 0)
            // Also what a line above did not keep to itself, whose characters are wider than thought.
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

    /// Everything is sent at the next drawing: something else wrote on the terminal.
    func forget() {
        relay_screen_forget()
    }

    /// Parameters of ECMA-48's SGR, as `Style` and relayd write them.
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

    /// ncurses' pair of this colour and the terminal's own background; 0 where there is none.
    private func pair(of wanted: Int) -> Int16 {
        guard colours >= 8, (0..<256).contains(wanted) else { return 0 }
        // Of the first eight those that say neither failure nor success: yellow, blue, magenta, cyan.
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

    /// Those pressed since the last call.
    func keys() -> [TopKey] {
        var keys: [TopKey] = []
        var code: wint_t = 0
        // A paste is taken in pieces.
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

    /// Gives the terminal to whoever had it before.
    func suspend() {
        endwin()
        isSuspended = true
    }

    /// Takes the terminal again, whose settings somebody may have changed.
    func resume() {
        isSuspended = false
        relay_screen_forget()
        fitSize()
        refresh()
    }
}

/// Signals as numbers in a pipe, so that one thread waits for them and for keys.
enum TopSignals {
    /// Those that end the program, once the terminal is given back.
    static let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    private static let pipe = Atomic<Int32>(-1)

    /// Catches them from now on.
    ///
    /// - Returns: Where their numbers can be read, a byte each; nil where there is no descriptor left.
    static func start() -> Int32? {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // Neither a handler nor the screen waits for the other.
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

    /// Nothing but what is allowed at any moment (signal-safety(7)).
    private static let handler: @convention(c) (Int32) -> Void = { number in
        let error = errno
        // See `TopScreen.close`, which is never reached while drawing waits.
        if number == SIGTERM || number == SIGHUP, !TopSignals.isInBackground {
            tcflow(STDOUT_FILENO, TCOON)
        }
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(TopSignals.pipe.load(ordering: .acquiring), &byte, 1)
        errno = error
    }

    /// Stops this process as the signal does; returns when somebody lets it go on.
    static func stop(by number: Int32) {
        OwnSignal.send(number)
        if number == SIGTSTP { catchStop() }
    }
}

/// Gives the terminal back when the program crashes, which leaves it no time for more.
private enum TerminalRescue {
    /// Address of the settings from before, which are kept for as long as the process lives; 0: none.
    private static let settings = Atomic<UInt>(0)
    private static let crashes = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT]
    /// Main screen, visible cursor, no colours, plain keys: as nearly all terminals know it (xterm's
    /// control sequences).
    private static let sequence: StaticString =
        "\u{1B}[?1049l\u{1B}[?25h\u{1B}[0m\u{1B}[?1l\u{1B}>\r\n"

    static func remember() {
        guard settings.load(ordering: .acquiring) == 0 else { return }
        let space = UnsafeMutablePointer<termios>.allocate(capacity: 1)
        space.initialize(to: termios())
        tcgetattr(STDIN_FILENO, space)
        settings.store(UInt(bitPattern: space), ordering: .releasing)
    }

    static func arm() {
        for number in crashes { signal(number, handler) }
    }

    static func disarm() {
        for number in crashes { signal(number, SIG_DFL) }
    }

    private static let handler: @convention(c) (Int32) -> Void = { number in
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
