// Three apps on one link, through relayd or through a plain FIFO, for `SharingBenchmark`.

import Foundation
import Synchronization

/// One link, two apps that ask and one that floods.
protocol SharedLink {
    var headUnit: Socket { get }
    /// The sessions of the apps that ask.
    var sessions: [UInt8] { get }
    var floodSession: UInt8 { get }

    /// Sends a request of the app `index` and returns when its answer has come.
    func ask(_ index: Int, _ request: [UInt8]) throws
    /// Writes for the flooding app; blocks while nothing is taken.
    var flood: @Sendable ([UInt8]) throws -> Void { get }
    /// Ends all connections, so that no call waits any more.
    func end()
}

/// Every app has a connection of its own.
struct RelayedLink: SharedLink {
    private let lane: Lane
    private let apps: [(app: Socket, session: UInt8)]
    private let flooding: (app: Socket, session: UInt8)
    private let answerBytes: Int

    init(_ lane: Lane, answerBytes: Int) throws {
        self.lane = lane
        self.answerBytes = answerBytes
        apps = [(lane.app, lane.session), try lane.join()]
        flooding = try lane.join()
    }

    var headUnit: Socket { lane.headUnit }
    var sessions: [UInt8] { apps.map(\.session) }
    var floodSession: UInt8 { flooding.session }

    func ask(_ index: Int, _ request: [UInt8]) throws {
        try apps[index].app.write(request)
        try withUnsafeTemporaryAllocation(byteCount: answerBytes, alignment: 16) {
            try apps[index].app.readExactly(into: $0)
        }
    }

    var flood: @Sendable ([UInt8]) throws -> Void {
        let socket = flooding.app
        return { try socket.write($0) }
    }

    func end() {
        for app in apps { app.app.shutDown() }
        flooding.app.shutDown()
    }
}

/// A relay without scheduling: the apps' frames go one after the other into one connection, in the
/// order in which the apps wanted to write, and socat passes them on.
final class FIFOLink: SharedLink {
    private let lane: Lane
    private let queue = DispatchQueue(label: "fifo")
    private let answered: [DispatchSemaphore]
    let sessions: [UInt8]
    let floodSession: UInt8 = 3
    private let hasEnded = Mutex(false)

    init(_ lane: Lane) {
        self.lane = lane
        sessions = [lane.session, 2]
        answered = sessions.map { _ in DispatchSemaphore(value: 0) }
        let (socket, sessions, answered) = (lane.app, sessions, answered)
        Thread {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)
            defer { buffer.deallocate() }
            var scanner = FrameScanner()
            while let count = try? socket.read(into: buffer), count > 0 {
                scanner.scan(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { frame in
                    guard let index = sessions.firstIndex(of: frame.session) else { return }
                    answered[index].signal()
                }
            }
            for semaphore in answered { semaphore.signal() }
        }.start()
    }

    var headUnit: Socket { lane.headUnit }

    func ask(_ index: Int, _ request: [UInt8]) throws {
        let socket = lane.app
        try queue.sync { try socket.write(request) }
        answered[index].wait()
        guard !hasEnded.withLock({ $0 }) else { throw BenchmarkError("the link has ended") }
    }

    var flood: @Sendable ([UInt8]) throws -> Void {
        let (queue, socket) = (queue, lane.app)
        return { bytes in try queue.sync { try socket.write(bytes) } }
    }

    func end() {
        hasEnded.withLock { $0 = true }
        lane.app.shutDown()
    }
}
