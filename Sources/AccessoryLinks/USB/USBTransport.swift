package import NIOCore

/// A USB device with a pair of bulk endpoints, opened through libusb: `usb:1bc4:0001`,
/// `usb:openxc`, `usb:aoa`, or a phone that is switched to accessory mode.
///
/// Looks for the device that is named and touches no other. `USBPump` has the thread that moves the bytes; here the
/// hub's end of the socket pair becomes a channel.
package struct USBTransport: AccessoryTransport {
    package static let scheme = "usb"
    package static let usage = "usb:1bc4:0001?serial=0042"
    package static let summary = "a USB device with bulk endpoints; relayctl devices lists them"

    package let selector: USBSelector
    package let details: LinkDetails?
    private let pump: USBPump

    package init(_ address: AccessoryAddress) throws(AddressError) {
        selector = try USBSelector(address)
        let details = LinkDetails()
        self.details = details
        pump = USBPump(details)
    }

    package func watch(
        on loop: any EventLoop, onChange: @escaping @Sendable () -> Void
    ) async throws(LinkProblem) -> (any DevicePresence)? {
        try await pump.watch(selector, on: loop, onChange: onChange)
    }

    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let opened = try await pump.open(selector, on: loop)
        return try await DescriptorChannel.open(
            socket: OwnedDescriptor(opened.socket), on: loop
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(USBLinkHandler(end: opened.end))
            }.flatMap { configure(channel) }
        }
    }
}
