import Glibc
package import NIOCore
import SimulatedAccessory
import SimulatedVehicle

/// The built-in accessories, for work without hardware: the head unit `sim:` and the vehicle interface
/// `sim:openxc`. Their configurations define their options.
package struct SimTransport: AccessoryTransport {
    package static let scheme = "sim"
    package static let usage = "sim:"
    package static let summary = "the built-in simulated head unit; sim:openxc a vehicle interface"

    private enum Accessory: Sendable {
        case headUnit(SimulatedAccessory.Configuration)
        case vehicle(SimulatedVehicle.Configuration)

        func handler() -> any ChannelHandler {
            switch self {
            case .headUnit(let configuration):
                SimulatedAccessoryHandler(configuration: configuration)
            case .vehicle(let configuration): SimulatedVehicleHandler(configuration)
            }
        }
    }

    private let accessory: Accessory

    package init(_ address: AccessoryAddress) throws(AddressError) {
        switch address.path.lowercased() {
        case "":
            do {
                accessory = .headUnit(try .init(options: address.optionValues))
            } catch {
                throw AddressError("\"\(address)\": \(error.message)")
            }
        case "openxc":
            do {
                accessory = .vehicle(try .init(options: address.optionValues))
            } catch {
                throw AddressError("\"\(address)\": \(error.message)")
            }
        default:
            throw AddressError(
                "\"\(address)\" has \"\(address.path)\" after sim:; expected \"sim:\" or "
                    + "\"sim:openxc\", alone or with options, as in \"sim:?NAME=VALUE\"")
        }
    }

    package var deviceNode: String? { nil }

    /// Opens a socket pair: one end is the link, the accessory sits at the other, on the same loop. A real socket
    /// gives the simulator the same back pressure and partial reads as hardware.
    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let accessory = accessory
        return try await DescriptorChannel.openPair(on: loop, configure: configure) {
            accessory.handler()
        }
    }
}
