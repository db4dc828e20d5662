import NIOCore
import NIOPosix
import Testing

@testable import AccessoryLinks

@Suite("SimTransport")
struct SimTransportTests {
    @Test("the simulated head unit opens at once and closes with the link")
    func opens() async throws {
        try await SupervisedLink("sim:").run { link in
            try await link.waitUntilOpen()
            let channel = try #require(link.probe.seen.value.channel)
            #expect(channel.isActive)
            try await channel.close()
            try await link.waitUntilOpen(times: 2)
            #expect(link.probe.seen.value.inactive == 1)
        }
    }

    @Test("an unknown option is refused when the address is read")
    func refusesOption() throws {
        let address = try AccessoryAddress("sim:?no-such-option=1")
        let error = try #require(throws: AddressError.self) {
            try TransportCatalog.transport(for: address)
        }
        #expect(error.message.hasPrefix("\"sim:?no-such-option=1\": "))
        #expect(error.message.contains("no-such-option"))
    }
}
