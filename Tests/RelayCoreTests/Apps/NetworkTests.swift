import NIOCore
import Testing

@testable import RelayCore

@Suite("Networks apps may connect from")
struct NetworkTests {
    private func network(_ text: String) throws -> Network { try Network(parsing: text) }

    private func address(_ text: String) throws -> PeerAddress {
        try #require(PeerAddress(parsing: text))
    }

    @Test(
        "an address is in a network if its leading bits are the same",
        arguments: [
            ("192.168.0.0/16", "192.168.255.1", true), ("192.168.0.0/16", "192.169.0.1", false),
            ("127.0.0.0/8", "127.0.0.1", true), ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false), ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false), ("::/0", "8.8.8.8", true), ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe80::1", false), ("::1", "::1", true), ("::1", "127.0.0.1", false),
            ("10.0.0.0/31", "10.0.0.1", true), ("10.0.0.0/31", "10.0.0.2", false),
            ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
        ])
    func contains(text: String, peer: String, isIn: Bool) throws {
        #expect(try network(text).contains(address(peer)) == isIn)
    }

    @Test("IPv4 that arrives at an IPv6 socket is IPv4")
    func mapped() throws {
        #expect(try address("::ffff:192.168.1.20") == address("192.168.1.20"))
        #expect(try network("192.168.0.0/16").contains(address("::ffff:192.168.1.20")))
        #expect(try network("::ffff:192.168.0.0/112").contains(address("192.168.1.20")))
        let socket = try SocketAddress(ipAddress: "::ffff:10.0.0.7", port: 2776)
        #expect(PeerAddress(socket) == PeerAddress(parsing: "10.0.0.7"))
    }

    @Test("an address without IP is none")
    func noAddress() throws {
        #expect(try PeerAddress(SocketAddress(unixDomainSocketPath: "/tmp/x")) == nil)
    }

    @Test(
        "what is no network is refused with what to write",
        arguments: [
            ("", "a network such as", nil), ("bench", "a network such as", nil),
            ("localhost", "a network such as", "write 127.0.0.0/8"),
            ("192.168.0.0/33", "a prefix length from 0 to 32", nil),
            ("192.168.0.0/", "a prefix length from 0 to 32", nil),
            ("192.168.0.0/-1", "a prefix length from 0 to 32", nil),
            ("192.168.0.0/+8", "a prefix length from 0 to 32", nil),
            ("fd00::/129", "a prefix length from 0 to 128", nil),
            ("fe80::1%eth0", "a network such as", "leave out the zone"),
            ("[::1]", "a network such as", "leave out the brackets"),
            ("10.0.0.0/8/8", "a prefix length", nil),
            ("192.168.1.20/16", "a network such as", "write 192.168.0.0/16"),
            ("fd00::1/8", "a network such as", "write fd00::/8"),
        ] as [(String, String, String?)])
    func malformed(text: String, expected: String, hint: String?) {
        do throws(Network.Malformed) {
            let network = try Network(parsing: text)
            Issue.record("\(text) was taken for \(network)")
        } catch {
            #expect(error.expected.hasPrefix(expected))
            if let hint { #expect(error.hint?.contains(hint) == true, "\(error.hint ?? "none")") }
        }
    }
}
