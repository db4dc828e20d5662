import Glibc
package import NIOCore
import NIOPosix
import OpenXCTraces
import Replays
import Traces

/// A recording in place of the accessory: `replay:FILE`. The head unit of a recording answers live apps as it did
/// then; an OpenXC trace is played to clients.
package struct ReplayTransport: AccessoryTransport {
    package static let scheme = "replay"
    package static let usage = "replay:bug.pcapng"
    package static let summary =
        "the head unit of a recording, or an OpenXC trace; options speed, interval, loop"

    private enum Player: Sendable {
        case headUnit(RecordedHeadUnit.Options)
        case vehicle(TracePlayer.Options)
    }

    private let path: String
    private let player: Player

    package init(_ address: AccessoryAddress) throws(AddressError) {
        try address.requireOptions(among: ["speed", "interval", "loop"])
        guard !address.path.isEmpty, address.path != "-" else {
            throw AddressError(
                "\"\(address)\" names no file; expected the path of a trace, as in "
                    + "\"replay:/home/me/bug.pcapng\"")
        }
        path = address.path
        let speed = try Self.speed(address)
        let interval = try Self.interval(address)
        let loops = try Self.loops(address)
        guard address.language == .openxc else {
            guard interval == nil else {
                throw AddressError(
                    "\"\(address)\": interval= is for OpenXC traces, and \(path) is not one; a head "
                        + "unit's recording takes speed=")
            }
            var options = RecordedHeadUnit.Options()
            if let speed { options.speed = speed }
            options.loops = loops
            player = .headUnit(options)
            return
        }
        guard speed == nil || interval == nil else {
            throw AddressError(
                "\"\(address)\" has speed= and interval=; expected one of them, because both say how "
                    + "fast the trace is played")
        }
        var options = TracePlayer.Options()
        options.loops = loops
        if let interval { options.pace = .fixed(interval) }
        switch speed {
        case .factor(let factor): options.pace = .factor(factor)
        case .maximum: options.pace = .maximum
        case nil: break
        }
        player = .vehicle(options)
    }

    private static func speed(_ address: AccessoryAddress) throws(AddressError) -> ReplaySpeed? {
        guard let text = address[option: "speed"] else { return nil }
        guard let speed = ReplaySpeed(text) else {
            throw AddressError(
                "speed is \"\(text)\" in \"\(address)\"; expected a number between 0.1 and "
                    + "100, or max")
        }
        return speed
    }

    private static func interval(_ address: AccessoryAddress) throws(AddressError) -> TimeAmount? {
        guard let text = address[option: "interval"] else { return nil }
        guard text.hasSuffix("ms"), let milliseconds = Int64(text.dropLast(2)),
            (1...60_000).contains(milliseconds)
        else {
            throw AddressError(
                "interval is \"\(text)\" in \"\(address)\"; expected the time between two messages, "
                    + "1ms to 60000ms, as in interval=20ms")
        }
        return .milliseconds(milliseconds)
    }

    private static func loops(_ address: AccessoryAddress) throws(AddressError) -> Bool {
        switch address[option: "loop"] {
        case nil, "off": return false
        case "on": return true
        case let text?:
            throw AddressError(
                "loop is \"\(text)\" in \"\(address)\"; expected on or off")
        }
    }

    /// Opens a socket pair, as `sim:` does: the recording sits at the other end, on the same loop. The file is read
    /// on NIO's threads for files.
    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let handler = try await handler()
        return try await DescriptorChannel.openPair(
            on: loop, configure: configure, accessory: handler)
    }

    /// Opens the file.
    private func handler() async throws(LinkProblem) -> @Sendable () -> any ChannelHandler {
        switch player {
        case .headUnit(let options):
            let (recording, batches) = try await beginning()
            return { RecordedHeadUnitHandler(options, recording, readAlready: batches) }
        case .vehicle(let options):
            let file = try await trace()
            return { TracePlayerHandler(options, file) }
        }
    }

    private func trace() async throws(LinkProblem) -> OpenXCTraceFile {
        try await onThread { path in
            do throws(OpenXCTraceFile.OpenError) {
                return try OpenXCTraceFile(path)
            } catch {
                throw LinkProblem.system("\(path) cannot be read", errno: error.code)
            }
        }
    }

    /// Reads up to the first session that the head unit granted: a recording without one answers no app.
    private func beginning() async throws(LinkProblem) -> (Recording, [Recording.Batch]) {
        try await onThread(Self.read)
    }

    /// Opens the file on a thread that may block, after checking that it is a file.
    private func onThread<File: Sendable>(
        _ open: @escaping @Sendable (String) throws -> File
    ) async throws(LinkProblem) -> File {
        let path = path
        do {
            return try await NIOThreadPool.singleton.runIfActive {
                try Self.check(path)
                return try open(path)
            }
        } catch let problem as LinkProblem {
            throw problem
        } catch {
            throw LinkProblem(.other, "\(path) cannot be read: \(error)")
        }
    }

    private static func read(_ path: String) throws -> (Recording, [Recording.Batch]) {
        do throws(TraceFileError) {
            let recording = try Recording(path, .headUnit)
            var batches: [Recording.Batch] = []
            while true {
                let batch = try recording.next()
                // Batches before the first granted session would reach no app.
                if batch.grantedSessions == 0 { batches = [] }
                batches.append(batch)
                if batch.grantedSessions > 0 { return (recording, batches) }
                if batch.isLast { break }
            }
        } catch {
            guard error.isNoTrace else {
                throw LinkProblem(
                    .other, "\(error)",
                    remedy:
                        "relayctl trace info says what is in it; relayctl record makes a trace")
            }
            // It has already been found to be no OpenXC trace either.
            throw LinkProblem(
                .other, "\(error); no OpenXC trace either, whose lines are JSON objects",
                remedy: "make one with relayctl record (of a vehicle interface: with --format "
                    + "openxc), put it there, then: relayctl reopen")
        }
        throw LinkProblem(
            .other, "\(path): no app was granted a session in this recording",
            remedy: "start the recording before the app connects, then replay that")
    }

    /// Refuses what cannot be a recording, with a message of its own.
    private static func check(_ path: String) throws(LinkProblem) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let error = errno
            switch error {
            case ENOENT, ENOTDIR:
                throw LinkProblem(
                    .absent, "there is no file \(path)",
                    remedy: "check the path behind replay:; a relative one begins where relayd "
                        + "was started")
            case EACCES: throw denied(path)
            default: throw .system("\(path) cannot be read", errno: error)
            }
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw LinkProblem(
                .other, "\(path) is not a file",
                remedy: "replay: takes a trace, a file that relayctl record made")
        }
        guard access(path, R_OK) == 0 else { throw denied(path) }
    }

    private static func denied(_ path: String) -> LinkProblem {
        LinkProblem(
            .permissionDenied, "relayd may not read \(path)",
            remedy: "let relayd's user read it, for example: chmod a+r \(path)")
    }
}
