import NIOCore
import NIOPosix

/// The event loops that `Daemon` creates: they last until the process ends.
enum LastingLoop {
    /// An event loop with a thread of its own.
    ///
    /// It cannot be shut down, because a late report may always come: a driver that returns from a
    /// close after shutdown has stopped waiting, or a name server that finally answers. NIO drops
    /// reports to a loop that has ended, and the unfulfilled promise crashes a debug build.
    /// Everything that has to be closed in order is closed by its owner before the process ends;
    /// the kernel closes the rest.
    static func start() -> any EventLoop {
        // The group and its loop retain each other until a shutdown, so both stay.
        MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
    }
}
