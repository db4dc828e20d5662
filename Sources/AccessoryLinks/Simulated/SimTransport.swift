import Glibc
package import NIOCore
import SimulatedAccessory

/// The built-in head unit, for work without hardware: `sim:`. Its options are those of
/// `SimulatedAccessory.Configuration`.
package struct SimTransport: AccessoryTransport {
    package static let scheme = "sim"
    package static let usage = "sim:"
    package static let summary = "the built-in simulated head unit"

    private let configuration: SimulatedAccessory.Configuration

    package init(_ address: AccessoryAddress) throws(AddressError) {
        guard address.path.isEmpty else {
            throw AddressError(
                "\"\(address)\" has \"\(address.path)\" after sim:; "
                    + "expected \"sim:\" alone or with options, as in \"sim:?NAME=VALUE\"")
        }
        do {
            configuration = try SimulatedAccessory.Configuration(options: address.optionValues)
        } catch {
            throw AddressError("\"\(address)\": \(error.message)")
        }
    }

    package var deviceNode: String? { nil }

    /// A socket pair: one end is the link, the head unit sits at the other, on the same loop. A
    /// real socket gives the simulator the same back pressure and partial reads as hardware has.
    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let ends = try OwnedDescriptor.socketPair()
        let linkEnd = OwnedDescriptor(ends.0)
        let accessoryEnd = OwnedDescriptor(ends.1)

        let configuration = configuration
        let accessory = try await DescriptorChannel.open(socket: accessoryEnd, on: loop) {
            channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    SimulatedAccessoryHandler(configuration: configuration))
            }
        }
        do {
            let link = try await DescriptorChannel.open(
                socket: linkEnd, on: loop, configure: configure)
            link.closeFuture.whenComplete { _ in accessory.close(promise: nil) }
            accessory.closeFuture.whenComplete { _ in link.close(promise: nil) }
            return link
        } catch {
            accessory.close(promise: nil)
            throw error
        }
    }
}
