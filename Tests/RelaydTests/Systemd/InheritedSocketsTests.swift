import Glibc
import Testing

@testable import relayd

// Sockets from systemd: identified by name, refused when they are of the wrong kind.

@Suite("InheritedSockets")
struct InheritedSocketsTests {
    @Test("names say what each socket is for")
    func sorted() throws {
        let sockets = try InheritedSockets(
            [(3, "apps"), (4, "control"), (5, "apps")], isListening: { _, _ in true })
        #expect(sockets.apps == [3, 5])
        #expect(sockets.control == 4)
    }

    @Test("nothing handed over is no error")
    func nothing() throws {
        #expect(try InheritedSockets([]) == InheritedSockets())
    }

    @Test("a name nobody knows is refused with what to write instead")
    func unknownName() {
        let error = #expect(throws: InheritedSocketError.self) {
            try InheritedSockets([(3, "relayd.socket")], isListening: { _, _ in true })
        }
        #expect(error == .unknownName("relayd.socket"))
        #expect("\(error as Any)".contains("FileDescriptorName=apps"))
    }

    @Test("one control socket is enough")
    func twoControls() {
        #expect(throws: InheritedSocketError.twoControlSockets) {
            try InheritedSockets(
                [(3, "control"), (4, "control")], isListening: { _, _ in true })
        }
    }

    @Test("real sockets: kind and listening are looked at")
    func realSockets() throws {
        let tcp = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        let udp = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
        let unix = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        defer { for descriptor in [tcp, udp, unix] { close(descriptor) } }
        #expect(throws: InheritedSocketError.notTCP) { try InheritedSockets([(tcp, "apps")]) }
        // Without an address, the kernel chooses one.
        try #require(listen(tcp, 1) == 0)
        #expect(try InheritedSockets([(tcp, "apps")]).apps == [tcp])
        #expect(throws: InheritedSocketError.notTCP) { try InheritedSockets([(udp, "apps")]) }
        #expect(throws: InheritedSocketError.notUnix) { try InheritedSockets([(tcp, "control")]) }
        #expect(throws: InheritedSocketError.notUnix) { try InheritedSockets([(unix, "control")]) }
    }
}
