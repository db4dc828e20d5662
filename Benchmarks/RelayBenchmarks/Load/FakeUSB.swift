// The tests' fake USB device as a benchmark uses it, and the smallest program on real libusb that
// moves bytes through it, so that the cost of the simulated device is not taken for relayd's.

import Foundation
import Glibc

/// A running fake-usb-device with an OpenXC interface, whose bytes go to a TCP port of ours. The type in
/// ProgramTests runs the same C program, but reports to the test that it is part of.
final class FakeUSB {
    /// The address that relayd opens.
    static let accessory = "usb:1bc4:0001"
    private static let preload = "libumockdev-preload.so.0"

    private let child: MeasuredProcess
    private let control: Socket
    private let plainUSB: String
    private let rigTimer: String
    private let directory: String
    /// The socket that the head unit behind the device connects to.
    let listener: Socket
    private let testbed: String

    /// Whether it can be built here.
    static var isAvailable: Bool {
        (try? MeasuredProcess("pkg-config", ["--exists", "umockdev-1.0"]).ended().code) == 0
    }

    init(_ setting: Setting) throws {
        directory = try setting.newDirectory()
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        plainUSB = "\(directory)/plain-usb"
        rigTimer = "\(directory)/rig-timer.so"
        let program = "\(directory)/fake-usb-device"
        try Self.build("Benchmarks/PlainUSB/plain_usb.c", "libusb-1.0", plainUSB)
        try Self.build(
            "Benchmarks/RigTimer/rig_timer.c", "libusb-1.0", rigTimer, options: "-shared -fPIC")
        try Self.build("Tests/FakeUSBDevice/fake_usb_device.c", "umockdev-1.0", program)
        let listening = try Socket.listen()
        listener = listening.socket
        let output = "\(directory)/fake-usb-output"
        child = try MeasuredProcess(
            program, ["\(directory)/fake-usb"], environment: ["LD_PRELOAD": Self.preload],
            output: output, errors: output)
        testbed = try Self.testbed(saidIn: output)
        control = try Socket.connect(unix: "\(directory)/fake-usb")
        try tell("bridge \(listening.port)")
    }

    func plug() throws { try tell("plug 1-1 openxc -") }

    func unplug() throws { try tell("unplug 1-1") }

    /// The number of transfers returned to programs so far.
    func transfers() throws -> Int {
        let answer = try tell("count")
        guard let count = Int(answer.dropFirst()) else { throw BenchmarkError("count: \(answer)") }
        return count
    }

    /// The bytes that transfers have moved so far, from the device and to it.
    func moved() throws -> (in: Int, out: Int) {
        let numbers = try tell("moved").split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2 else { throw BenchmarkError("moved: \(numbers)") }
        return (numbers[0], numbers[1])
    }

    /// The environment that makes a program see the device.
    var environment: [String: String] {
        [
            "LD_PRELOAD": "\(rigTimer):\(Self.preload)", "UMOCKDEV_DIR": testbed,
            "RIG_TIMER_FILE": times,
        ]
    }

    private var times: String { "\(directory)/rig-times" }

    /// Processor seconds that the last program has spent in the fake device's ioctls so far.
    func rigTime() throws -> Double {
        let data = try Data(contentsOf: URL(fileURLWithPath: times))
        // The first of rig_timer.c's two numbers.
        guard data.count >= MemoryLayout<Int64>.size else {
            throw BenchmarkError("\(times): \(data.count) bytes, which are no times")
        }
        return data.withUnsafeBytes { Double($0.loadUnaligned(as: Int64.self)) * 1e-9 }
    }

    /// Gives an order, which is carried out when this returns.
    ///
    /// - Returns: the rest of the answer after "ok".
    @discardableResult
    private func tell(_ command: String) throws -> Substring {
        try control.write(Array("\(command)\n".utf8))
        var answer: [UInt8] = []
        var byte: [UInt8] = [0]
        while answer.last != UInt8(ascii: "\n") {
            try byte.withUnsafeMutableBytes { try control.readExactly(into: $0) }
            answer += byte
        }
        let text = String(decoding: answer.dropLast(), as: UTF8.self)
        guard text.hasPrefix("ok") else { throw BenchmarkError("\(command): \(text)") }
        return text.dropFirst(2)
    }

    private static func testbed(saidIn file: String) throws -> String {
        let deadline = Clock.now() + Double(Socket.patienceSeconds)
        let mark = "UMOCKDEV_DIR="
        while Clock.now() < deadline {
            let text = (try? ProcessFacts.text(of: file)) ?? ""
            if text.hasPrefix(mark), let end = text.firstIndex(of: "\n") {
                return String(text[..<end].dropFirst(mark.count))
            }
            usleep(2000)
        }
        throw BenchmarkError("the fake USB device does not start")
    }

    /// Builds with whatever C compiler there is, as the tests do: if this were a target of the package,
    /// a machine without umockdev could build no benchmark at all.
    private static func build(
        _ source: String, _ library: String, _ program: String, options: String = ""
    ) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let errors = "\(program)-errors"
        let compiler = try MeasuredProcess(
            "sh",
            [
                "-c",
                """
                compiler=$(command -v cc || command -v gcc || command -v clang)
                "$compiler" -O2 $4 -o "$1" "$2" $(pkg-config --cflags --libs "$3")
                """, "sh", program, root.appendingPathComponent(source).path, library, options,
            ], errors: errors)
        guard try compiler.ended().code == 0 else {
            throw BenchmarkError("\(source): \((try? ProcessFacts.text(of: errors)) ?? "")")
        }
    }
}

// MARK: - Without relayd

extension FakeUSB {
    /// What the plain program has to do.
    struct Plan {
        var transferBytes = 16_384
        var transfers = 4
        var seconds: Double
        var reads = false
        /// The rate to the device; nil for as much as possible, 0 for none.
        var bytesPerSecond: Int? = 0
    }

    struct Result {
        var inMegabytesPerSecond: Double
        var outMegabytesPerSecond: Double
        var transfersPerSecond: Double
        /// The processor use of the plain program alone, in per cent of one core.
        var processorShare: Double
    }

    /// Runs the plain program on the device that is plugged in.
    ///
    /// - Parameter load: what the head unit sends meanwhile, and how much of it per second; nil
    ///   for as much as possible.
    func runPlainProgram(_ plan: Plan, load: (piece: [UInt8], bytesPerSecond: Int?)?) throws
        -> Result
    {
        let output = "\(directory)/plain-usb-output"
        let before = try transfers()
        unlink(output)
        let rate = plan.bytesPerSecond.map { "\($0)" } ?? "-1"
        let program = try MeasuredProcess(
            plainUSB,
            [
                "\(plan.transferBytes)", "\(plan.transfers)", "\(plan.seconds)",
                plan.reads ? "yes" : "no", rate,
            ], environment: environment, output: output, errors: output)
        let headUnit = try listener.accept()
        let sink = Drain(headUnit)
        let flood = load.map { load in
            Flood([load.piece], bytesPerSecond: load.bytesPerSecond) { try headUnit.write($0) }
        }
        let status = try program.ended().code
        headUnit.shutDown()
        flood?.stop()
        sink.stop()
        let said = try ProcessFacts.text(of: output)
        let numbers = said.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard status == 0, numbers.count == 4 else {
            throw BenchmarkError("plain-usb says: \(said)")
        }
        return Result(
            inMegabytesPerSecond: numbers[0] / numbers[2] / 1e6,
            outMegabytesPerSecond: numbers[1] / numbers[2] / 1e6,
            transfersPerSecond: Double(try transfers() - before) / numbers[2],
            processorShare: 100 * numbers[3] / numbers[2])
    }
}
