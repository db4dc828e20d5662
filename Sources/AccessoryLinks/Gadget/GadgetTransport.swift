import Glibc
package import NIOCore

/// The machine as an Android phone, at a head unit's USB port: `gadget:`.
///
/// The head unit is the host: it finds a phone, leads it into accessory mode (Android Open Accessory), and then has
/// a pair of bulk endpoints. So this transport listens. `GadgetPump` has the threads; here the hub's end of the
/// socket pair becomes a channel. Everything that needs root has been done before (`GadgetComposer`).
package struct GadgetTransport: AccessoryTransport {
    package static let scheme = "gadget"
    package static let usage = "gadget:?udc=fe980000.usb"
    package static let summary = "this machine as an Android phone, plugged into the head unit"

    package let options: GadgetOptions
    package let details: LinkDetails?
    private let controllers: DeviceControllers
    private let pump: GadgetPump

    package init(_ address: AccessoryAddress) throws(AddressError) {
        let options = try GadgetOptions(address)
        let layout = GadgetLayout()
        let controllers = DeviceControllers(directory: layout.places.controllers)
        self.init(options, controllers, absence: GadgetThread.usualAbsence) {
            () throws(LinkProblem) in
            try KernelGadget(layout, options)
        }
    }

    init(
        _ options: GadgetOptions, _ controllers: DeviceControllers, absence: Duration,
        openGadget: @escaping GadgetThread.OpenGadget
    ) {
        self.options = options
        self.controllers = controllers
        let details = LinkDetails()
        self.details = details
        pump = GadgetPump(details) { mailbox in
            GadgetThread(mailbox, options, controllers, absence: absence, openGadget: openGadget)
        }
    }

    package func watch(
        on loop: any EventLoop, onChange: @escaping @Sendable () -> Void
    ) async throws(LinkProblem) -> (any DevicePresence)? {
        try await ControllerPresence(controllers, options.controller, on: loop, onChange: onChange)
    }

    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        try await open(on: loop, configure: configure) { _ in }
    }

    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup,
        listening: @escaping @Sendable (String) -> Void
    ) async throws(LinkProblem) -> any Channel {
        let opened = try await pump.open(on: loop, listening: listening)
        return try await DescriptorChannel.open(
            socket: OwnedDescriptor(opened.socket), on: loop
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(USBLinkHandler(end: opened.end))
            }.flatMap { configure(channel) }
        }
    }
}
