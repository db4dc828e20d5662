import NIOCore
import NIOPosix

/// The event loops that `Daemon` makes: nothing ends them but the end of the process.
enum LastingLoop {
    /// An event loop with a thread of its own.
    ///
    /// Nothing can shut it down, because somebody may always report to it late: a driver that
    /// returns from a close after the stop stopped waiting for it, or a name server that answers at
    /// last. NIO drops what is reported to a loop that has ended, and the promise that stays unkept
    /// ends a debug build. Whatever has to be closed in order is closed by its owner before the
    /// process ends; the kernel closes the rest.
    static func start() -> any EventLoop {
        // The group and its loop hold each other until a shutdown, so both stay.
        MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
    }
}
