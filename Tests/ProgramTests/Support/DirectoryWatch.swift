// Waiting for what programs write into files.

import Dispatch
import Glibc
import NIOCore
import NIOPosix
import RelayTesting

/// Reports every change of a directory's files, using inotify(7).
enum DirectoryWatch {
    /// Looks now and after every change, until `look` finds something.
    ///
    /// - Returns: What was found; nil if nothing was found in time.
    static func until<Found>(
        _ directory: String, _ look: () async throws -> Found?
    ) async throws -> Found? {
        let (changes, change) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // Before the first look, so that no later change is missed.
        let watch = try watch(directory) { change.yield() }
        let timeout = MultiThreadedEventLoopGroup.singleton.next()
            .scheduleTask(in: FramePeer.patience) { change.finish() }
        defer {
            timeout.cancel()
            watch.cancel()
        }
        if let found = try await look() { return found }
        for await _ in changes {
            if let found = try await look() { return found }
        }
        return nil
    }

    private static func watch(
        _ directory: String, changed: @escaping @Sendable () -> Void
    ) throws -> any DispatchSourceRead {
        let descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        let wanted = UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO)
        guard descriptor >= 0, inotify_add_watch(descriptor, directory, wanted) >= 0 else {
            let failure = SystemFailure("\(directory) cannot be watched")
            close(descriptor)
            throw failure
        }
        let source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor, queue: DispatchQueue(label: "relayd.test.watch"))
        source.setEventHandler {
            var events = [UInt8](repeating: 0, count: 4096)
            while read(descriptor, &events, events.count) > 0 {}
            changed()
        }
        source.setCancelHandler { close(descriptor) }
        source.activate()
        return source
    }
}
