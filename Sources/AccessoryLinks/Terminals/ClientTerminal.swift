import Glibc
import HostNames
package import Logging
package import NIOCore
import NIOPosix
import Synchronization

/// Where clients find a terminal, and who may open it.
package struct TerminalPlace: Hashable, Sendable {
    /// The path of the symbolic link.
    package var path: String
    /// The group that may open it besides relayd's own user; nil for relayd's own group.
    package var group: UInt32?

    package init(path: String, group: UInt32?) {
        (self.path, self.group) = (path, group)
    }
}

/// A serial port that relayd provides, for programs that talk to an accessory through one. Each program that opens
/// it is a client of its own, as if it had connected.
///
/// A pseudo-terminal cannot be polled like a socket: its master reports a hang-up for as long as no program has the
/// slave open. So a thread (`TerminalPump`) holds the master, and one end of a socket pair for each client.
package final class ClientTerminal: Sendable {
    package let place: TerminalPlace
    private let mailbox: TerminalMailbox
    private let ended: EventLoopFuture<Void>

    private init(
        _ place: TerminalPlace, _ mailbox: TerminalMailbox, ended: EventLoopFuture<Void>
    ) {
        (self.place, self.mailbox, self.ended) = (place, mailbox, ended)
    }

    /// Opens the terminal; the link exists when this returns.
    ///
    /// - Parameters:
    ///   - loop: where clients are served.
    ///   - configure: makes a channel a client; called on `loop`.
    /// - Throws: `TerminalProblem`.
    package static func open(
        _ place: TerminalPlace, on loop: any EventLoop, logger: Logger,
        configure: @escaping ChannelSetup
    ) async throws -> ClientTerminal {
        let mailbox = try TerminalMailbox(place.path)
        let opened = loop.makePromise(of: Void.self)
        let ended = loop.makePromise(of: Void.self)
        let failure = DetachedThread.run {
            defer { ended.succeed() }
            do throws(TerminalProblem) {
                let pump = try TerminalPump(place, mailbox: mailbox, logger: logger) { socket in
                    serve(socket, on: loop, configure)
                }
                opened.succeed()
                pump.run()
            } catch {
                opened.fail(error)
            }
        }
        if failure != 0 {
            ended.succeed()
            opened.fail(
                TerminalProblem.system(
                    place.path, "a thread could not be started", errno: failure))
        }
        try await opened.futureResult.get()
        return ClientTerminal(place, mailbox, ended: ended.futureResult)
    }

    /// Closes the terminal and removes the link. Clients see a hang-up.
    package func stop() async {
        mailbox.stop()
        try? await ended.get()
    }

    /// Serves a client at the hub's end of its socket pair.
    private static func serve(
        _ socket: CInt, on loop: any EventLoop, _ configure: @escaping ChannelSetup
    ) {
        let taken = TakenFlag()
        ClientBootstrap(group: loop)
            .channelOption(
                .writeBufferWaterMark, value: .init(low: 16 << 10, high: 64 << 10)
            )
            .channelInitializer { channel in
                taken.set()
                return configure(channel)
            }
            .withConnectedSocket(socket)
            .whenFailure { _ in
                // From the initialiser on, NIO closes the socket.
                if !taken.isSet { close(socket) }
            }
    }

    private final class TakenFlag: Sendable {
        private let flag = Atomic(false)
        var isSet: Bool { flag.load(ordering: .acquiring) }
        func set() { flag.store(true, ordering: .releasing) }
    }
}

/// Wakes the terminal's thread, and tells it to stop.
final class TerminalMailbox: Sendable {
    private let isOver = Atomic(false)
    private let wake: OwnedDescriptor
    private let woken: OwnedDescriptor

    init(_ path: String) throws(TerminalProblem) {
        var ends: [CInt] = [-1, -1]
        // Not a pipe(2), which a program that is being started would inherit.
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        guard socketpair(AF_UNIX, CInt(kind), 0, &ends) == 0 else {
            throw .system(path, "no socket pair could be made", errno: errno)
        }
        woken = OwnedDescriptor(ends[0])
        wake = OwnedDescriptor(ends[1])
    }

    /// To be polled for reading; stays readable after `stop()`.
    var wakeUp: CInt { woken.rawValue }
    var mustStop: Bool { isOver.load(ordering: .acquiring) }

    func stop() {
        isOver.store(true, ordering: .releasing)
        var byte: UInt8 = 1
        _ = write(wake.rawValue, &byte, 1)
    }
}
