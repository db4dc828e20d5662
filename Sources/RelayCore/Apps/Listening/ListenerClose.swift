// Closes a socket that accepts connections so that its port is free once that is done.

import Glibc
package import NIOCore

extension Channel {
    /// Closes the listening socket: nobody can connect any more, and the port can be opened again.
    ///
    /// A socket listens until its last descriptor is closed: a program that is being started has a copy, and
    /// anyone who looks into /proc/PID/fd holds one for a moment. Shutting the socket down frees its port at
    /// once. Not for a systemd socket: that would shut down systemd's as well.
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
