// Fuzz targets: what users write into the configuration.

import AccessoryLinks
import RelayCore
import SDLProtocol

@testable import relayd

extension FuzzTarget {
    static let configuration = FuzzTarget(
        name: "configuration", about: "a configuration file in YAML",
        promise: "it is taken over, or every problem has a place and a text on one line",
        maximumBytes: 4096, words: { ConfigWords.all }, seeds: FuzzSeeds.configuration,
        run: { bytes in
            guard let text = try? ConfigFile.text(of: Array(bytes)) else { return }
            do throws(ConfigErrors) {
                let config = try Config.decode(text, file: "fuzz.yaml") { address in
                    (try? AccessoryAddress(address)) == nil ? "not an address" : nil
                }
                _ = ConfigSchema().options.map { $0.text(config) }
            } catch {
                for problem in error.problems {
                    let line = "\(problem)"
                    guard !line.isEmpty, !line.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
                    else {
                        throw BrokenPromise("a problem is told as \(line.debugDescription)")
                    }
                }
            }
        })

    static let addresses = FuzzTarget(
        name: "addresses",
        about: "addresses of head units with all their options, listening addresses, networks",
        promise: "what was read is written and read as the same", maximumBytes: 512,
        words: {
            TransportCatalog.schemes.map { "\($0):" } + [
                "?baud=", "&flow=", "/dev/ttyUSB0", "127.0.0.1:12345", "[::1]:2776",
                "usb:1bc4:0001",
                "?aoa=switch", "&serial=", "&bus=1-2.3", "openxc", "192.168.0.0/16", "fd00::/8",
                "%2F", "%00", "00:11:22:33:44:55", "?channel=", "&interface=", "&in=0x82",
            ]
        },
        run: { bytes in
            guard let text = String(validating: bytes, as: UTF8.self) else { return }
            if let address = try? AccessoryAddress(text) {
                _ = try? TransportCatalog.transport(for: address)
                let written = address.description
                // A percent-encoded address may be longer than a user may type.
                if written.utf8.count <= AccessoryAddress.maximumUTF8Count {
                    let again = try? AccessoryAddress(written)
                    try ensure(again == address, "\(address) is read back as \(again as Any)")
                }
            }
            if let listen = try? ListenAddress(parsing: text) {
                try ensure(
                    (try? ListenAddress(parsing: "\(listen)")) == listen,
                    "\(text) becomes \(listen)")
            }
            if let network = try? Network(parsing: text) {
                try ensure(
                    (try? Network(parsing: network.description)) == network,
                    "\(text) becomes \(network)")
            }
            if let peer = PeerAddress(parsing: text) {
                let own = try? Network(parsing: text)
                try ensure(own?.contains(peer) == true, "\(text) does not contain itself")
            }
        })
}

private enum ConfigWords {
    static let all = ConfigSchema().options.map { "\($0.path.split(separator: ".").last ?? ""):" }
}
