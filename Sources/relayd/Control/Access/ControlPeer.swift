// Who is at the other end of the control socket, and what they may do. Determined by
// `ControlEndpoint` for every request that changes something.

import CShims
import Glibc
package import NIOCore

/// The process that connected, as the kernel saw it at that moment.
package struct ControlPeer: Sendable, Equatable, CustomStringConvertible {
    package var pid: Int
    /// nil if the kernel cannot name the user here (`UnknownIDs`).
    package var uid: UInt32?
    /// Its group, and the others it belongs to, as far as the kernel can name them here.
    package var groups: Set<UInt32>
}

extension ControlPeer {
    /// Nil if the descriptor is not a connected Unix socket.
    package init?(descriptor: Int32, unknown: UnknownIDs = .current) {
        guard let (pid, uid, gid) = Self.credentials(of: descriptor) else { return nil }
        // NGROUPS_MAX of Linux; 256 KiB, only for requests that change something.
        var others = [gid_t](repeating: 0, count: 65_536)
        var count = others.count
        if relay_peer_groups(descriptor, &others, &count) != 0 { count = 0 }
        self.init(
            pid: Int(pid), uid: uid == unknown.user ? nil : uid,
            groups: Set(others.prefix(count)).union([gid]).subtracting([unknown.group]))
    }

    /// The credentials of a socket's peer; nil if it is not a Unix socket.
    static func credentials(of descriptor: Int32) -> (pid: pid_t, uid: uid_t, gid: gid_t)? {
        var (pid, uid, gid) = (pid_t(), uid_t(), gid_t())
        // A TCP socket has no peer process: pid 0.
        guard relay_peer_credentials(descriptor, &pid, &uid, &gid) == 0, pid > 0 else {
            return nil
        }
        return (pid, uid, gid)
    }

    /// The peer of a channel; nil if it is not a Unix socket.
    package static func of(_ channel: any Channel) async throws -> ControlPeer? {
        try await channel.eventLoop.submit {
            let operations = channel.pipeline.syncOperations
            return try operations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                ControlPeer(descriptor: $0)
            } ?? nil
        }.get()
    }

    package var description: String {
        (uid.map { "uid \($0)" } ?? "an unknown user") + " pid \(pid)"
    }
}

/// The numbers that stand for every user and group the kernel cannot name in relayd's user
/// namespace (user_namespaces(7)). With systemd's `PrivateUsers=yes` these are all but root and
/// relayd's own, so such a number does not identify anybody.
package struct UnknownIDs: Sendable, Equatable {
    package var user: UInt32
    package var group: UInt32

    package static let current = UnknownIDs(
        user: number(in: "/proc/sys/kernel/overflowuid"),
        group: number(in: "/proc/sys/kernel/overflowgid"))

    /// 65534 is the kernel's default.
    private static func number(in path: String) -> UInt32 {
        guard let file = fopen(path, "re") else { return 65_534 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 32)
        guard fgets(&line, Int32(line.count), file) != nil else { return 65_534 }
        let digits = line.map(UInt8.init(bitPattern:)).prefix { 0x30...0x39 ~= $0 }
        return UInt32(String(decoding: digits, as: UTF8.self)) ?? 65_534
    }
}

/// Who may make changes. Everybody whom the socket's mode lets connect may look.
package struct WritePolicy: Sendable, Equatable {
    /// The user relayd runs as.
    package var owner: UInt32
    /// The socket's group, if its mode lets it write and the kernel can name it.
    package var group: UInt32?
    /// Whether the socket has a group that may write but the kernel cannot name it: then its members
    /// cannot be recognised.
    package var isGroupUnknown: Bool
    /// Whether all others who are admitted by the mode may only look.
    package var isReadOnlyForOthers: Bool

    package init(
        owner: UInt32, group: UInt32?, isReadOnlyForOthers: Bool, unknown: UnknownIDs = .current
    ) {
        self.owner = owner
        isGroupUnknown = group == unknown.group
        self.group = isGroupUnknown ? nil : group
        self.isReadOnlyForOthers = isReadOnlyForOthers
    }

    package func allows(_ peer: ControlPeer) -> Bool {
        !isReadOnlyForOthers || isOwner(peer)
    }

    /// Whether the peer is an owner of the socket, whatever others may do.
    package func isOwner(_ peer: ControlPeer) -> Bool {
        guard let uid = peer.uid else { return false }
        if uid == 0 || uid == owner { return true }
        return group.map(peer.groups.contains) ?? false
    }

    /// The answer to a peer that may not make changes.
    package func refusal(of peer: ControlPeer) -> String {
        let members = group.map { ", members of group \($0)" } ?? ""
        let who = peer.uid.map { "user \($0)" } ?? "an unknown user"
        return """
            \(who) may look, but not change anything; user \(owner)\(members) and root may \
            (control.group, control.read_only_for_others)\(isGroupUnknown ? ". \(Self.hint)" : "")
            """
    }

    /// The answer to a peer that may not drive the conversation.
    package func driveRefusal(of peer: ControlPeer) -> String {
        let members = group.map { ", members of group \($0)" } ?? ""
        let who = peer.uid.map { "user \($0)" } ?? "an unknown user"
        return """
            \(who) may not drive the conversation; user \(owner)\(members) and root may \
            (control.group)\(isGroupUnknown ? ". \(Self.hint)" : "")
            """
    }

    /// What to do about a group that cannot be named.
    package static let hint = """
        The socket's group does not exist in relayd's user namespace (PrivateUsers= of the unit), so \
        its members cannot be told from others; use relayd's own group, or PrivateUsers=no
        """
}
