import Foundation
import HostNames
import NIOCore
import NIOPosix
import Testing

// Which addresses need no lookup, and that one lookup does not wait for another.

@Suite("HostName")
struct HostNameTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    @Test(
        "an address is its own answer, and localhost is this machine",
        arguments: [
            ("127.0.0.1", ["127.0.0.1"]), ("::1", ["::1"]), ("2001:db8::7", ["2001:db8::7"]),
            ("localhost", ["127.0.0.1", "::1"]), ("LocalHost", ["127.0.0.1", "::1"]),
        ])
    func known(host: String, expected: [String]) throws {
        let addresses = try #require(HostName.known(host, port: 7))
        #expect(addresses.compactMap(\.ipAddress) == expected)
        #expect(addresses.allSatisfy { $0.port == 7 })
    }

    @Test(
        "other names are asked for", arguments: ["", "bench.local", "localhost.example", "127.1"])
    func unknown(host: String) {
        #expect(HostName.known(host, port: 7) == nil)
    }

    @Test("lookups without an answer keep no other one waiting, however many there are")
    func independent() async throws {
        let release = DispatchSemaphore(value: 0)
        let stuck = (0..<4 * System.coreCount).map { _ in
            HostName.asking(on: loop) { release.wait() }
        }
        let answer = HostName.asking(on: loop) { "found" }
        #expect(try await answer.get() == "found")
        for _ in stuck { release.signal() }
        for lookup in stuck { try await lookup.get() }
    }

    @Test("what a lookup throws is what its asker is told")
    func failing() async {
        struct Refused: Error {}
        let answer: EventLoopFuture<Int> = HostName.asking(on: loop) { throw Refused() }
        await #expect(throws: Refused.self) { try await answer.get() }
    }
}
