// Closes a socket that accepts connections, so that its port is free when that is done.

import Glibc
package import NIOCore

extension Channel {
    /// Nobody can connect any more, and the port can be opened again.
    ///
    /// A socket listens until the last descriptor of it is closed: a program that is being started has
    /// a copy, and whoever looks into /proc/PID/fd holds one for a moment. Shut down, it gives up its
    /// port at once. Not for a socket of systemd's: that would end systemd's as well.
    package func closeListener() async {
        let closed = eventLoop.flatSubmit {
            try? self.pipeline.syncOperations.withUnsafeTransportIfAvailable {
                (descriptor: NIOBSDSocket.Handle) in
                _ = shutdown(descriptor, CInt(SHUT_RDWR))
            }
            return self.close()
        }
        try? await closed.get()
    }
}
