// Who is at the other end of the control socket, and what they may do. Asked by `ControlServer` for
// every request that changes something.

import CShims
import Glibc
package import NIOCore

/// The process that connected, as the kernel saw it at that moment.
package struct ControlPeer: Sendable, Equatable {
    package var pid: Int
    package var uid: UInt32
    /// Its group, and the others it belongs to.
    package var groups: Set<UInt32>

    package init(pid: Int, uid: UInt32, groups: Set<UInt32>) {
        self.pid = pid
        self.uid = uid
        self.groups = groups
    }

    /// Nil when the descriptor is no connected Unix socket.
    package init?(descriptor: Int32) {
        var (pid, uid, gid) = (pid_t(), uid_t(), gid_t())
        // A TCP socket has no such process: pid 0.
        guard relay_peer_credentials(descriptor, &pid, &uid, &gid) == 0, pid > 0 else {
            return nil
        }
        // NGROUPS_MAX of Linux; 256 KiB, only for requests that change something.
        var others = [gid_t](repeating: 0, count: 65_536)
        var count = others.count
        if relay_peer_groups(descriptor, &others, &count) != 0 { count = 0 }
        self.init(pid: Int(pid), uid: uid, groups: Set(others.prefix(count)).union([gid]))
    }

    /// The peer of a channel; nil when it is no Unix socket.
    package static func of(_ channel: any Channel) async throws -> ControlPeer? {
        try await channel.eventLoop.submit {
            let operations = channel.pipeline.syncOperations
            return try operations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                ControlPeer(descriptor: $0)
            } ?? nil
        }.get()
    }
}

/// Who may change something. Everybody whom the socket's mode lets connect may look.
package struct WritePolicy: Sendable, Equatable {
    /// The user relayd runs as.
    package var owner: UInt32
    /// The socket's group, where its mode lets it write.
    package var group: UInt32?
    /// Whether all others, whom the mode has let in, may only look.
    package var isReadOnlyForOthers: Bool

    package init(owner: UInt32, group: UInt32?, isReadOnlyForOthers: Bool) {
        self.owner = owner
        self.group = group
        self.isReadOnlyForOthers = isReadOnlyForOthers
    }

    package func allows(_ peer: ControlPeer) -> Bool {
        guard isReadOnlyForOthers, peer.uid != 0, peer.uid != owner else { return true }
        return group.map(peer.groups.contains) ?? false
    }

    /// What a peer is told that may not.
    package func refusal(of peer: ControlPeer) -> String {
        let members = group.map { ", members of group \($0)" } ?? ""
        return """
            user \(peer.uid) may look, but not change anything; user \(owner)\(members) and root may \
            (control.group, control.read_only_for_others)
            """
    }
}
