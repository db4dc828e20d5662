import Glibc
package import NIOCore
import NIOPosix
import Replays
import Traces

/// The head unit of a recording, which answers live apps as it did then: `replay:FILE`.
package struct ReplayTransport: AccessoryTransport {
    package static let scheme = "replay"
    package static let usage = "replay:bug.pcapng"
    package static let summary = "the head unit of a recording; options speed, loop"

    private let path: String
    private let options: RecordedHeadUnit.Options

    package init(_ address: AccessoryAddress) throws(AddressError) {
        try address.requireOptions(among: ["speed", "loop"])
        guard !address.path.isEmpty, address.path != "-" else {
            throw AddressError(
                "\"\(address)\" names no file; expected the path of a trace, as in "
                    + "\"replay:/home/me/bug.pcapng\"")
        }
        path = address.path
        var options = RecordedHeadUnit.Options()
        if let text = address[option: "speed"] {
            guard let speed = ReplaySpeed(text) else {
                throw AddressError(
                    "speed is \"\(text)\" in \"\(address)\"; expected a number between 0.1 and "
                        + "100, or max")
            }
            options.speed = speed
        }
        switch address[option: "loop"] {
        case nil, "off": break
        case "on": options.loops = true
        case let text?:
            throw AddressError(
                "loop is \"\(text)\" in \"\(address)\"; expected on or off")
        }
        self.options = options
    }

    /// A socket pair, as `sim:` has: the recorded head unit sits at the other end, on the same loop. The
    /// file is read on NIO's threads for files.
    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let (recording, batches) = try await beginning()
        let ends = try OwnedDescriptor.socketPair()
        let linkEnd = OwnedDescriptor(ends.0)
        let accessoryEnd = OwnedDescriptor(ends.1)

        let options = options
        let accessory = try await DescriptorChannel.open(socket: accessoryEnd, on: loop) {
            channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    RecordedHeadUnitHandler(options, recording, readAlready: batches))
            }
        }
        do {
            let link = try await DescriptorChannel.open(
                socket: linkEnd, on: loop, configure: configure)
            link.closeFuture.whenComplete { _ in accessory.close(promise: nil) }
            accessory.closeFuture.whenComplete { _ in link.close(promise: nil) }
            return link
        } catch {
            accessory.close(promise: nil)
            throw error
        }
    }

    /// Reads until the first session that the head unit granted: a recording without one answers nobody.
    private func beginning() async throws(LinkProblem) -> (Recording, [Recording.Batch]) {
        let path = path
        do {
            return try await NIOThreadPool.singleton.runIfActive {
                try Self.check(path)
                return try Self.read(path)
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
                // What belongs to no granted session is said to nobody.
                if batch.grantedSessions == 0 { batches = [] }
                batches.append(batch)
                if batch.grantedSessions > 0 { return (recording, batches) }
                if batch.isLast { break }
            }
        } catch {
            throw LinkProblem(
                .other, "\(error)",
                remedy: "relayctl trace info says what is in it; relayctl record makes a trace")
        }
        throw LinkProblem(
            .other, "\(path): no app was granted a session in this recording",
            remedy: "start the recording before the app connects, then replay that")
    }

    /// What cannot be a recording, in words of its own.
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
