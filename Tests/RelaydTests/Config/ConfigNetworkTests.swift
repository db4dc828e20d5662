import RelayCore
import Testing

@testable import relayd

// Messages to the user about apps.allow.

@Suite("apps.allow in the configuration")
struct ConfigNetworkTests {
    @Test(
        "a bad network is named with its place, what was expected and what to write",
        arguments: [
            (
                "bench",
                "f:2:24: apps.allow[1]: found \"bench\"; expected a network such as "
                    + "192.168.0.0/16, fd00::/8 or 192.168.1.20"
            ),
            (
                "10.0.0.0/33",
                "f:2:24: apps.allow[1]: found \"10.0.0.0/33\"; expected a prefix length from 0 "
                    + "to 32 after the /"
            ),
            (
                "10.1.2.3/8",
                "f:2:24: apps.allow[1]: found \"10.1.2.3/8\"; expected a network such as "
                    + "192.168.0.0/16, fd00::/8 or 192.168.1.20; 10.1.2.3 is an address inside "
                    + "the network; write 10.0.0.0/8, or 10.1.2.3 for that address alone"
            ),
        ])
    func malformed(text: String, message: String) {
        do throws(ConfigErrors) {
            let config = try Config.decode(
                "apps:\n  allow: [127.0.0.0/8, \"\(text)\"]\n", file: "f")
            Issue.record("taken for \(config.hub.allowedNetworks)")
        } catch {
            #expect(error.problems.map(\.description) == [message])
        }
    }
}
