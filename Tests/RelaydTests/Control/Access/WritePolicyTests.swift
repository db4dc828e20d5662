import Glibc
import Testing

@testable import relayd

@Suite struct WritePolicyTests {
    private let policy = WritePolicy(owner: 900, group: 50, isReadOnlyForOthers: true)

    @Test(
        "owner, root and the socket's group may change things, others may not",
        arguments: [
            (uid: 900, groups: [900], mayWrite: true), (uid: 0, groups: [0], mayWrite: true),
            (uid: 1000, groups: [1000, 50], mayWrite: true),
            (uid: 1000, groups: [50], mayWrite: true),
            (uid: 1000, groups: [1000, 27], mayWrite: false),
            (uid: 1000, groups: [900], mayWrite: false),
        ])
    func whoMay(uid: UInt32, groups: [UInt32], mayWrite: Bool) {
        let peer = ControlPeer(pid: 1, uid: uid, groups: Set(groups))
        #expect(policy.allows(peer) == mayWrite)
        var everybody = policy
        everybody.isReadOnlyForOthers = false
        #expect(everybody.allows(peer))
        var noGroup = policy
        noGroup.group = nil
        #expect(noGroup.allows(peer) == (uid == 0 || uid == 900))
    }

    @Test("others who may change things may not drive the conversation")
    func whoMayDrive() {
        var everybody = policy
        everybody.isReadOnlyForOthers = false
        let other = ControlPeer(pid: 1, uid: 1000, groups: [1000])
        #expect(everybody.allows(other) && !everybody.isOwner(other))
        for owner in [
            ControlPeer(pid: 1, uid: 900, groups: []), ControlPeer(pid: 1, uid: 0, groups: []),
            ControlPeer(pid: 1, uid: 1000, groups: [50]),
        ] {
            #expect(everybody.isOwner(owner))
        }
        let text = everybody.driveRefusal(of: other)
        #expect(text.contains("user 1000 may not drive the conversation; user 900"))
    }

    @Test("who may not is told who may, and which options decide it") func refusal() {
        let text = policy.refusal(of: ControlPeer(pid: 1, uid: 1000, groups: [1000]))
        for words in ["user 1000 may look", "user 900", "group 50", "root", "control.group"] {
            #expect(text.contains(words), "\(text)")
        }
    }

    @Test("what the kernel cannot name is nobody: neither member, owner nor a number for the log")
    func unknown() throws {
        let unknown = UnknownIDs(user: 65_534, group: 65_534)
        // Under PrivateUsers= the socket's group and all groups of every peer appear as this one.
        let policy = WritePolicy(
            owner: 900, group: 65_534, isReadOnlyForOthers: true, unknown: unknown)
        #expect(policy.isGroupUnknown && policy.group == nil)
        #expect(!policy.allows(ControlPeer(pid: 1, uid: 1000, groups: [65_534])))
        #expect(!policy.allows(ControlPeer(pid: 1, uid: nil, groups: [])))
        #expect(policy.allows(ControlPeer(pid: 1, uid: 900, groups: [])))
        #expect(policy.allows(ControlPeer(pid: 1, uid: 0, groups: [])))
        let text = policy.refusal(of: ControlPeer(pid: 1, uid: nil, groups: []))
        #expect(text.hasPrefix("an unknown user may look") && text.contains("PrivateUsers="))
        #expect(ControlPeer(pid: 7, uid: nil, groups: []).description == "an unknown user pid 7")
    }

    @Test("numbers that stand for the unknown are left out of what the kernel says")
    func unknownPeer() throws {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        let unknown = UnknownIDs(user: getuid(), group: getgid())
        let peer = try #require(ControlPeer(descriptor: pair[0], unknown: unknown))
        #expect(peer.uid == nil && !peer.groups.contains(getgid()))
        #expect(UnknownIDs.current.user > 0 && UnknownIDs.current.group > 0)
    }

    @Test("a peer is known by its process, user and groups") func peer() throws {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        let peer = try #require(ControlPeer(descriptor: pair[0]))
        #expect(peer.pid == Int(getpid()) && peer.uid == getuid())
        var own = [gid_t](repeating: 0, count: 65_536)
        let count = getgroups(Int32(own.count), &own)
        #expect(peer.groups == Set(own.prefix(Int(count))).union([getgid()]))
    }

    @Test("what is no Unix socket has no peer") func noPeer() {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        #expect(ControlPeer(descriptor: descriptor) == nil)
        #expect(ControlPeer(descriptor: STDIN_FILENO) == nil)
    }
}
