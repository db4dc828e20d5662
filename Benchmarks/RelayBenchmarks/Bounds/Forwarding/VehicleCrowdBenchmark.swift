// A shared vehicle interface with a hundred clients.

import ControlAPI
import Foundation
import Glibc
import OpenXCProtocol
import Synchronization

/// 100 clients of one vehicle interface that sends 1,000 messages a second, and commands besides.
enum VehicleCrowdBenchmark: Benchmark {
    static let name = "openxc-crowd"
    static let summary =
        "an OpenXC interface with 1,000 messages/s to 100 clients: relayd's share of a processor, and how "
        + "much later a command is answered"

    private static let clients = 100
    private static let messagesPerSecond = 1000

    static func run(_ setting: Setting) async throws -> Findings {
        var findings = Findings(notes: [
            "client and vehicle interface in this program, JSON over TCP: 9 signals and a CAN frame in turn, 55 B on",
            "average; one thread reads for all clients; a command is version, answered at once; direct is the",
            "same without relayd: each of its commands behind one through relayd, so that both meet the same machine",
        ])
        let seconds = setting.isQuick ? 0.5 : 5.0
        for perWrite in [1, 10] {
            let subject = "100 clients, \(perWrite == 1 ? "a message" : "10 messages") at a time"
            let (course, direct) = (try Course(setting, clients: clients), try Direct())
            var (all, loop): ([Double], [Double]) = ([], [])
            var (late, beside): ([[Double]], [[Double]]) = ([], [])
            for _ in 0..<setting.rounds {
                let result = try course.run(seconds: seconds, perWrite: perWrite, direct)
                all.append(result.all)
                loop.append(result.loop)
                late.append(result.commands.times)
                beside.append(result.commands.directTimes)
            }
            findings.add(subject, "relayd", "all threads", all, "%")
            findings.add(subject, "relayd", "event loop", loop, "%")
            for (share, quantity) in quantiles {
                findings.add(
                    subject, "relayd", "command, \(quantity)", late.map { $0.percentile(share) },
                    "ms")
                findings.add(
                    subject, "direct", "command, \(quantity)", beside.map { $0.percentile(share) },
                    "ms")
            }
            findings.bound(
                "\(subject): of one processor", all.median, .atMost, 50, "%")
            findings.bound(
                "\(subject): added to a command and its answer, p99",
                added(late, beside), .atMost, 5, "ms")
        }
        let (alone, direct) = (try Course(setting, clients: 1), try Direct())
        let count = setting.isQuick ? 200 : 3000
        var (through, beside): ([[Double]], [[Double]]) = ([], [])
        for _ in 0..<setting.rounds {
            let result = try alone.commands(count, direct)
            through.append(result.times)
            beside.append(result.directTimes)
        }
        for (share, quantity) in quantiles {
            findings.add(
                "command and answer", "relayd", quantity,
                through.map { $0.percentile(share) * 1000 }, "µs")
            findings.add(
                "command and answer", "direct", quantity,
                beside.map { $0.percentile(share) * 1000 }, "µs")
        }
        findings.bound(
            "command and answer: added by relayd, p99", added(through, beside), .atMost, 5, "ms")
        return findings
    }

    private static let quantiles = [(0.5, "p50"), (0.99, "p99")]

    /// What relayd adds at p99: the median of the differences of all rounds.
    private static func added(_ through: [[Double]], _ direct: [[Double]]) -> Double {
        zip(through, direct).map { $0.percentile(0.99) - $1.percentile(0.99) }.median
    }

    // MARK: - Both ends

    private static let question = Array(#"{"command":"version"}"#.utf8) + [0]
    private static let answer =
        Array(#"{"command_response":"version","message":"8.2.1 (bench)","status":true}"#.utf8) + [0]

    /// Answers each question for the version, in a thread of its own.
    private final class Answering: Sendable {
        init(_ link: Socket) {
            let thread = Thread {
                var buffer = [UInt8](repeating: 0, count: 4096)
                while true {
                    guard
                        let count = try? buffer.withUnsafeMutableBytes({ try link.read(into: $0) }),
                        count > 0
                    else { return }
                    for byte in buffer.prefix(count) where byte == 0 { try? link.write(answer) }
                }
            }
            thread.start()
        }
    }

    /// Asks, and waits for the answer among all other messages.
    ///
    /// - Returns: Milliseconds.
    private static func ask(_ client: Socket, _ buffer: inout [UInt8]) throws -> Double {
        let start = Clock.nanoseconds()
        try client.write(question)
        var pending: [UInt8] = []
        while true {
            let count = try buffer.withUnsafeMutableBytes { try client.read(into: $0) }
            guard count > 0 else { throw BenchmarkError("the connection was closed") }
            pending += buffer.prefix(count)
            while let end = pending.firstIndex(of: 0) {
                if pending[...end].elementsEqual(answer) {
                    return Double(Clock.nanoseconds() - start) / 1e6
                }
                pending.removeSubrange(...end)
            }
        }
    }

    private struct Direct {
        private let client: Socket
        private let vehicle: Answering

        init() throws {
            let (listener, port) = try Socket.listen()
            client = try Socket.connect(port: port)
            vehicle = Answering(try listener.accept())
        }

        func ask(_ buffer: inout [UInt8]) throws -> Double {
            try VehicleCrowdBenchmark.ask(client, &buffer)
        }
    }

    /// A relayd with a vehicle interface and clients.
    private final class Course {
        private let relayd: RelaydProcess
        private let link: Socket
        private let vehicle: Answering
        private let clients: [Socket]
        private let asking: Socket

        /// The times of the commands, with and without relayd in turn, in milliseconds.
        struct Commands {
            var times: [Double] = []
            var directTimes: [Double] = []
        }

        struct Result {
            var commands: Commands
            /// Shares of one processor, in per cent.
            var all: Double
            var loop: Double
        }

        init(_ setting: Setting, clients count: Int) throws {
            let (listener, port) = try Socket.listen()
            let directory = try setting.newDirectory()
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true)
            let file = "\(directory)/bench.yaml"
            let text = """
                log: { traffic: false, destination: terminal }
                dashboard: { enabled: false }
                openxc: { listen: "127.0.0.1:0" }

                """
            try text.write(toFile: file, atomically: false, encoding: .utf8)
            var options = RelaydProcess.Options()
            options.accessory = "openxc+tcp:127.0.0.1:\(port)"
            options.configuration = file
            relayd = try RelaydProcess(setting, options, directory: "\(directory)/run")
            link = try listener.accept()
            vehicle = Answering(link)
            let place = try relayd.port()
            clients = try (0..<count).map { _ in try Socket.connect(port: place) }
            asking = try Socket.connect(port: place)
            try relayd.until("all are there") { $0.apps.count == count + 1 }
        }

        func commands(_ count: Int, _ direct: Direct) throws -> Commands {
            var commands = Commands()
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            for _ in 0..<count { try ask(&commands, direct, &buffer) }
            return commands
        }

        private func ask(
            _ commands: inout Commands, _ direct: Direct, _ buffer: inout [UInt8]
        ) throws {
            commands.times.append(try VehicleCrowdBenchmark.ask(asking, &buffer))
            commands.directTimes.append(try direct.ask(&buffer))
        }

        func run(seconds: Double, perWrite: Int, _ direct: Direct) throws -> Result {
            let pieces = VehicleCrowdBenchmark.pieces(perWrite)
            let done = DispatchSemaphore(value: 0)
            let (clients, link) = (clients, link)
            let total = Int(seconds * Double(VehicleCrowdBenchmark.messagesPerSecond)) / perWrite
            let expected =
                (0..<total).reduce(0) { $0 + pieces[$1 % pieces.count].count } * clients.count
            let reader = Reader(clients, heard: expected)
            let (before, loopBefore) = (relayd.child.settledProcessorTime(), try loopTime())
            let sender = Thread {
                let start = Clock.now()
                for index in 0..<total {
                    let due =
                        start + Double(index * perWrite)
                        / Double(VehicleCrowdBenchmark.messagesPerSecond)
                    let wait = due - Clock.now()
                    if wait > 0 { usleep(UInt32(wait * 1e6)) }
                    try? link.write(pieces[index % pieces.count])
                }
                done.signal()
            }
            sender.start()
            var commands = Commands()
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            let start = Clock.now()
            while Clock.now() - start < seconds * 0.9 {
                try ask(&commands, direct, &buffer)
                usleep(20_000)
            }
            done.wait()
            try reader.wait()
            let (after, loopAfter) = (relayd.child.settledProcessorTime(), try loopTime())
            return Result(
                commands: commands, all: 100 * (after - before) / seconds,
                loop: 100 * (loopAfter - loopBefore) / seconds)
        }

        private func loopTime() throws -> Double {
            let facts = relayd.facts
            return Double(try facts.threads()[facts.relayLoop()]?.processorNanoseconds ?? 0) / 1e9
        }
    }

    /// Reads for all clients until a number of bytes have come.
    private final class Reader: Sendable {
        private let isDone = DispatchSemaphore(value: 0)
        private let missing: Atomic<Int>

        init(_ clients: [Socket], heard expected: Int) {
            missing = Atomic(expected)
            let thread = Thread { [self] in
                var polled = clients.map {
                    pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
                }
                var buffer = [UInt8](repeating: 0, count: 64 << 10)
                let patience = Int32(Socket.patienceSeconds * 1000)
                while missing.load(ordering: .relaxed) > 0 {
                    guard poll(&polled, nfds_t(polled.count), patience) > 0 else { break }
                    for one in polled where one.revents != 0 {
                        let count = recv(one.fd, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                        if count > 0 { missing.subtract(count, ordering: .relaxed) }
                    }
                    // Like busy clients, it does not wake up for every message.
                    usleep(2000)
                }
                isDone.signal()
            }
            thread.start()
        }

        func wait() throws {
            isDone.wait()
            let missing = missing.load(ordering: .relaxed)
            guard missing == 0 else {
                throw BenchmarkError("clients miss \(missing) bytes")
            }
        }
    }

    /// The pieces to write one at a time, in turn.
    private static func pieces(_ perWrite: Int) -> [[UInt8]] {
        let messages = (0..<10).map { index -> VehicleMessage in
            if index == 9 {
                let frame = CANMessage(bus: 1, id: 0x7E8, data: [1, 2, 3, 4, 5, 6, 7, 8])
                return VehicleMessage(.can(frame))
            }
            let value = VehicleValue.number(Double(index) * 17.25)
            return VehicleMessage(
                .measurement(OpenXCProtocol.Measurement("steering_wheel_angle", value)))
        }
        return stride(from: 0, to: messages.count, by: perWrite).map { start in
            messages[start..<start + perWrite].reduce(into: []) { bytes, message in
                message.appendJSON(to: &bytes)
                bytes.append(0)
            }
        }
    }
}
