// A fake USB device under real libusb: builds Tests/FakeUSBDevice, runs it, and gives it orders.

import ControlAPI
import Foundation
import Glibc
import RelayTesting
import Testing

/// A running fake-usb-device; gone when `run` returns. Devices are plugged in with `tell`.
struct FakeUSB {
    let process: ChildProcess
    private let orders: OrderSocket
    private let testbed: String

    static let preload = "libumockdev-preload.so.0"

    /// Whether it can be built here.
    static let isAvailable = Task {
        let found = try? await ChildProcess.run(
            "pkg-config", ["--exists", "umockdev-1.0"], environment: Program.environment())
        return found?.ending == .exited(0)
    }

    /// Built once per test run, with whatever C compiler there is: as a target of the package, a
    /// machine without umockdev could build nothing at all.
    private static let program = Task {
        let source = Checkout.root.appending(path: "Tests/FakeUSBDevice/fake_usb_device.c").path
        let program = try Program.relayd.path() + "-fake-usb-device"
        let built = try await ChildProcess.run(
            "sh",
            [
                "-c",
                """
                compiler=$(command -v cc || command -v gcc || command -v clang)
                flags=$(pkg-config --cflags --libs umockdev-1.0)
                "$compiler" -O2 -Wall -Wextra -Werror -o "$1.$$" "$2" $flags && mv "$1.$$" "$1"
                """, "sh", program, source,
            ], environment: Program.environment())
        guard built.ending == .exited(0) else { throw NotBuilt(description: built.errors) }
        return program
    }

    struct NotBuilt: Error, CustomStringConvertible {
        let description: String
    }

    static func run(_ body: (FakeUSB) async throws -> Void) async throws {
        try await TemporaryDirectory.run { directory in
            let socketPath = directory.file("fake-usb")
            let process = try await ChildProcess.start(
                program.value, [socketPath],
                environment: Program.environment(["LD_PRELOAD": preload]))
            do {
                let line = try await process.output.first(containing: "UMOCKDEV_DIR=")
                let orders = try OrderSocket(socketPath)
                defer { orders.close() }
                let usb = FakeUSB(
                    process: process, orders: orders,
                    testbed: String(line.dropFirst("UMOCKDEV_DIR=".count)))
                // `tell` blocks until the device has done it.
                try await onOwnThread { try await body(usb) }
            } catch {
                process.signal(SIGTERM)
                Issue.record(
                    "the device said:\n\(process.output.all.suffix(40).joined(separator: "\n"))")
                throw error
            }
            // It ends, and removes what it has made, when the connection is gone.
            #expect(try await process.ended() == .exited(0))
        }
    }

    /// The environment that makes a program see the fake devices instead of this machine's.
    var environment: [String: String] { ["LD_PRELOAD": Self.preload, "UMOCKDEV_DIR": testbed] }

    /// The bytes that transfers have moved so far, from and to all devices.
    func moved() throws -> (in: Int, out: Int) {
        let numbers = try tell("moved").split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2 else { throw NotBuilt(description: "moved: \(numbers)") }
        return (numbers[0], numbers[1])
    }

    /// Whether the host has no transfer left for the devices to fill.
    func mustWait() throws -> Bool {
        let answer = try tell("offered")
        guard let offered = Int(answer.dropFirst()) else {
            throw NotBuilt(description: "offered:\(answer)")
        }
        return offered == 0
    }

    /// Gives an order, which is carried out when this returns.
    ///
    /// - Returns: the rest of the answer after "ok".
    @discardableResult
    func tell(_ command: String) throws -> Substring { try orders.tell(command) }

    /// Everything the device has said by the time of the call. What `process.output` has read may lag behind
    /// what relayd has heard from the device.
    func said() async throws -> [String] {
        let note = "note \(UUID().uuidString)"
        try tell(note)
        try await process.output.first(containing: note)
        return process.output.all
    }
}

/// Fake devices, a head unit behind them, and a relayd that sees them.
struct USBBench {
    let usb: FakeUSB
    let accessory: FakeAccessory
    let relayd: Relayd

    /// - Parameters:
    ///   - before: orders to the fake device before relayd starts.
    ///   - environment: of relayd, besides what makes it see the fake devices.
    static func run(
        _ address: String, before: [String] = [], config: String = Relayd.quickGoodbyes,
        environment: [String: String] = [:],
        _ body: (USBBench) async throws -> Void
    ) async throws {
        try await FakeUSB.run { usb in
            try await FakeAccessory.run { accessory in
                for command in ["bridge \(accessory.port)"] + before { try usb.tell(command) }
                try await Relayd.run(
                    accessory: address, config: config,
                    environment: usb.environment.merging(environment) { fake, _ in fake }
                ) { relayd in
                    try await body(USBBench(usb: usb, accessory: accessory, relayd: relayd))
                }
            }
        }
    }

    /// Returns a head unit and an app with a session, once the device is open.
    func connect(session: UInt8 = 1) async throws -> (headUnit: FramePeer, app: FramePeer) {
        let headUnit = try await accessory.nextLink()
        let app = try await relayd.connectApp()
        try await headUnit.start(session, for: app)
        return (headUnit, app)
    }

    /// Expects the bytes on the link to be those that the devices moved and those that were lost, exactly.
    func expectAllBytesCounted() async throws {
        let moved = try usb.moved()
        let accessory = try await relayd.status().accessory
        #expect(accessory.bytesIn + (accessory.lostBytesIn ?? 0) == moved.in)
        #expect(accessory.bytesOut == moved.out + (accessory.lostBytesOut ?? 0))
    }

    /// The reason in the status, once it contains the text.
    @discardableResult
    func untilWaiting(_ text: String) async throws -> (code: String, text: String) {
        let status = try await relayd.until("waiting: \(text)") { status in
            status.accessory.state == .waiting
                && status.accessory.reason.map { "\($0.message); \($0.remedy)" }?.contains(text)
                    == true
        }
        let reason = try #require(status.accessory.reason)
        return (reason.code, "\(reason.message); \(reason.remedy)")
    }
}
