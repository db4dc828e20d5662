import CShims
package import NIOCore

/// How much of what was written to a link the kernel still holds; the hub asks before it writes more.
package enum LinkOutputQueue {
    /// Returns a function to call on the link's loop while the channel is active. It returns 0 when the kernel
    /// cannot tell, as with a pty or a Bluetooth socket.
    ///
    /// To be called while the channel is being configured.
    package static func gauge(of channel: any Channel) -> () -> Int {
        let pipeline = channel.pipeline.syncOperations
        if let link = try? pipeline.handler(type: TTYLinkHandler.self) {
            return { link.tty.queuedBytes }
        }
        guard (try? pipeline.handler(type: BluetoothLinkHandler.self)) == nil else { return { 0 } }
        let socket = try? pipeline.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            $0
        }
        guard let socket else { return { 0 } }
        var bytes: CInt = 0
        // A TCP socket's unacknowledged bytes are mostly on the network, and waiting does not get them there
        // sooner; with a Unix socket all are with the peer's process.
        let knowsUnsent = relay_socket_unsent(socket, &bytes) == 0
        return {
            // The descriptor's number may belong to another file afterwards.
            guard channel.isActive else { return 0 }
            var bytes: CInt = 0
            let error =
                knowsUnsent
                ? relay_socket_unsent(socket, &bytes) : relay_socket_output_queue(socket, &bytes)
            return error == 0 ? Int(bytes) : 0
        }
    }
}
