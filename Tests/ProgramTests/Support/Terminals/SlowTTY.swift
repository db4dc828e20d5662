// A tty whose driver makes its callers wait: builds Tests/SlowTTY, which is preloaded into relayd.

import Foundation
import Glibc
import NIOCore
import RelayTesting
import Testing

/// A pty with the habits of a real driver, each switched on by a test's order.
struct SlowTTY: Sendable {
    let line: PseudoTerminal
    private let directory: TemporaryDirectory
    private let library: String

    /// Built once per test run, with whatever C compiler there is.
    private static let library = Task {
        let source = Checkout.root.appending(path: "Tests/SlowTTY/slow_tty.c").path
        let library = try Program.relayd.path() + "-slow-tty.so"
        let built = try await ChildProcess.run(
            "sh",
            [
                "-c",
                """
                compiler=$(command -v cc || command -v gcc || command -v clang)
                "$compiler" -O2 -Wall -Wextra -Werror -shared -fPIC -o "$1.$$" "$2" -ldl -lpthread \
                && mv "$1.$$" "$1"
                """, "sh", library, source,
            ], environment: Program.environment())
        guard built.ending == .exited(0) else { throw NotBuilt(description: built.errors) }
        return library
    }

    struct NotBuilt: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter name: of the device node.
    static func run(
        _ name: String = "ttyUSB0", _ body: (SlowTTY) async throws -> Void
    ) async throws {
        let library = try await library.value
        try await TemporaryDirectory.run { directory in
            let line = try PseudoTerminal(path: directory.file(name))
            let tty = SlowTTY(line: line, directory: directory, library: library)
            try tty.order("")
            try await body(tty)
        }
    }

    /// Runs relayd on such a device.
    ///
    /// - Parameters:
    ///   - scheme: of the accessory's address; without, that of a serial line.
    ///   - words: what the driver does from the start.
    ///   - isPlugged: whether the device is there at the start.
    static func withRelayd(
        _ name: String = "ttyUSB0", scheme: String? = nil, ordered words: String = "",
        isPlugged: Bool = true, _ body: (SlowTTY, Relayd) async throws -> Void
    ) async throws {
        try await run(name) { tty in
            if !isPlugged { tty.line.unplug() }
            try tty.order(words)
            try await Relayd.run(
                accessory: scheme.map { "\($0):\(tty.line.path)" } ?? tty.line.accessory,
                environment: tty.environment
            ) { relayd in
                try await body(tty, relayd)
            }
        }
    }

    /// The environment variables that relayd needs.
    var environment: [String: String] {
        ["LD_PRELOAD": library, "SLOW_TTY": line.path, "SLOW_TTY_ORDERS": orders]
    }

    private var orders: String { directory.file("orders") }

    /// Sets what the driver does from now on; see slow_tty.c.
    func order(_ words: String) throws {
        // Replaced in one step: relayd reads it at any time.
        _ = try directory.write(words, to: "orders.new")
        guard rename(directory.file("orders.new"), orders) == 0 else {
            throw SystemFailure("the orders could not be given")
        }
    }

    /// What the driver has done, one line each.
    var done: [String] {
        guard let text = try? String(contentsOfFile: orders + ".log", encoding: .utf8) else {
            return []
        }
        return text.split(separator: "\n").map { String($0) }
    }

    /// Waits until the driver has done this.
    func until(_ what: String) async throws {
        let found = try await DirectoryWatch.until(directory.path) {
            done.contains(what) ? what : nil
        }
        guard found != nil else {
            throw NotBuilt(description: "the driver never said \"\(what)\": \(done)")
        }
    }
}
