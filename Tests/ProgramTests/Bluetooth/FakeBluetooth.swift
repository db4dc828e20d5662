// A message bus of the test's own with a stand-in for bluetoothd on it, and a relayd that uses them.

import ControlAPI
import Foundation
import Glibc
import RelayTesting
import Testing

/// A running stand-in for bluetoothd; gone when `run` returns.
struct FakeBluetooth {
    let daemon: ChildProcess
    private let orders: OrderSocket
    private let bus: String

    /// Whether it can be run here.
    static let isAvailable = Task {
        let found = try? await ChildProcess.run(
            "sh",
            ["-c", "command -v dbus-daemon && /usr/bin/python3 -c 'import dbus, gi'"],
            environment: Program.environment())
        return found?.ending == .exited(0)
    }

    private static let folder = Checkout.root.appending(path: "Tests/FakeBluetoothDaemon")

    static func run(_ body: (FakeBluetooth) async throws -> Void) async throws {
        try await TemporaryDirectory.run { directory in
            let place = "unix:path=\(directory.file("bus"))"
            let bus = try await ChildProcess.start(
                "dbus-daemon",
                [
                    "--config-file=\(folder.appending(path: "bus.conf").path)", "--nofork",
                    "--nopidfile", "--nosyslog", "--address=\(place)", "--print-address=1",
                ], environment: Program.environment())
            _ = try await bus.output.first(containing: "unix:")
            do {
                try await run(on: place, in: directory, body)
            } catch {
                bus.signal(SIGKILL)
                throw error
            }
            bus.signal(SIGTERM)
            _ = try await bus.ended()
        }
    }

    private static func run(
        on bus: String, in directory: TemporaryDirectory,
        _ body: (FakeBluetooth) async throws -> Void
    ) async throws {
        let socket = directory.file("orders")
        let daemon = try await ChildProcess.start(
            "/usr/bin/python3", [folder.appending(path: "fake-bluetoothd").path, socket],
            environment: Program.environment(["DBUS_SYSTEM_BUS_ADDRESS": bus]))
        do {
            _ = try await daemon.output.first(containing: "ready")
            let orders = try OrderSocket(socket)
            let bluetooth = FakeBluetooth(daemon: daemon, orders: orders, bus: bus)
            // `tell` blocks until the stand-in has done it.
            try await onOwnThread { try await body(bluetooth) }
            orders.close()
        } catch {
            daemon.signal(SIGKILL)
            Issue.record("bluetoothd said:\n\(daemon.errors.all.joined(separator: "\n"))")
            throw error
        }
        _ = try await daemon.ended()
    }

    /// The environment that makes a program use this bus instead of the machine's.
    var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": bus] }

    /// Gives an order, which is carried out when this returns.
    ///
    /// - Returns: the rest of the answer after "ok".
    @discardableResult
    func tell(_ order: String) throws -> String {
        try orders.tell(order).trimmingCharacters(in: .whitespaces)
    }
}
