import Glibc
package import NIOCore

/// Reaches a head unit over Bluetooth, the way a phone does: `bluetooth:listen` waits for the head unit to connect,
/// `bluetooth:00:1A:7D:DA:71:13` connects to a unit that offers the service itself.
///
/// bluetoothd (BlueZ) offers the service and looks it up. With `?channel=`, relayd connects to that channel of the
/// device without asking bluetoothd, or has bluetoothd listen on it. Pairing is left to the system.
package struct BluetoothTransport: AccessoryTransport {
    package static let scheme = "bluetooth"
    package static let usage = "bluetooth:listen"
    package static let summary = "Bluetooth, as a phone: wait for the head unit, or connect to it"

    /// SDL's service, which head units look for (SDL's Android library, `MultiplexBluetoothTransport`).
    static let sdlService = "936da01f-9abd-4d9d-80c7-02af85c822a8"

    /// The name that a phone gives the service, with the blank.
    static let serviceName = " SdlRouterService"

    /// The service with which a vehicle interface of OpenXC offers its serial port.
    private static let serialPortService = "00001101-0000-1000-8000-00805f9b34fb"

    let wish: BlueZDialogue.Wish

    package let details: LinkDetails?

    package init(_ address: AccessoryAddress) throws(AddressError) {
        let isListening = address.path.lowercased() == "listen"
        try address.requireOptions(among: ["channel", "uuid", "adapter"])
        let device = BluetoothAddress(address.path)
        guard isListening || device != nil else {
            throw AddressError(
                "\"\(address.path)\" in \"\(address)\" is no Bluetooth address; expected "
                    + "bluetooth:listen to wait for the head unit, or bluetooth: and its address, "
                    + "for example \"bluetooth:00:1A:7D:DA:71:13\"")
        }
        let service = address.language == .openxc ? Self.serialPortService : Self.sdlService
        wish = BlueZDialogue.Wish(
            device: device,
            uuid: try Self.uuid(address) ?? service,
            channel: try Self.channel(address),
            adapter: try Self.adapter(address))
        guard device == nil || wish.channel == nil || address.optionValues.count == 1 else {
            throw AddressError(
                "\"\(address)\" has channel= and another option; with a channel relayd connects "
                    + "without looking up a service, so give channel= alone")
        }
        details = LinkDetails(countsLosses: false)
    }

    private static func channel(_ address: AccessoryAddress) throws(AddressError) -> UInt8? {
        guard let text = address[option: "channel"] else { return nil }
        guard let channel = UInt8(text), (1...30).contains(channel) else {
            throw AddressError(
                "channel=\(text) in \"\(address)\": expected an RFCOMM channel from 1 to 30")
        }
        return channel
    }

    private static func uuid(_ address: AccessoryAddress) throws(AddressError) -> String? {
        guard let text = address[option: "uuid"] else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let isHex = text.utf8.allSatisfy {
            $0 == UInt8(ascii: "-") || Character(Unicode.Scalar($0)).isHexDigit
        }
        guard parts.map(\.count) == [8, 4, 4, 4, 12], isHex else {
            throw AddressError(
                "uuid=\(text) in \"\(address)\": expected a UUID, for example uuid=\(sdlService)")
        }
        return text.lowercased()
    }

    private static func adapter(_ address: AccessoryAddress) throws(AddressError) -> String? {
        guard let text = address[option: "adapter"] else { return nil }
        guard text.hasPrefix("hci"), UInt16(text.dropFirst(3)) != nil else {
            throw AddressError(
                "adapter=\(text) in \"\(address)\": expected the name of a Bluetooth adapter, "
                    + "for example adapter=hci0")
        }
        return text
    }

    // MARK: Opening

    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        try await open(on: loop, configure: configure, listening: { _ in })
    }

    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup,
        listening: @escaping @Sendable (String) -> Void
    ) async throws(LinkProblem) -> any Channel {
        if let device = wish.device, let number = wish.channel {
            let socket = try await RFCOMMConnecting(device, channel: number, on: loop).connect()
            return try await serve(socket, device.description, on: loop, configure)
        }
        let thread = try BlueZThread(wish, on: loop, listening: listening)
        let connection = try await thread.connect()
        do throws(LinkProblem) {
            let channel = try await serve(
                connection.descriptor, connection.device, on: loop, configure)
            channel.closeFuture.whenComplete { _ in thread.linkEnded() }
            return channel
        } catch {
            thread.linkEnded()
            throw error
        }
    }

    private func serve(
        _ socket: CInt, _ device: String, on loop: any EventLoop,
        _ configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        let channel = try await DescriptorChannel.open(
            socket: OwnedDescriptor(socket), on: loop
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(BluetoothLinkHandler(device: device))
            }.flatMap { configure(channel) }
        }
        details?.opened(device)
        channel.closeFuture.whenComplete { [details] _ in
            details?.ended(lostIn: 0, lostOut: 0)
        }
        return channel
    }

    package func pace(after problem: LinkProblem) -> ReconnectPolicy.Pace {
        switch problem.code {
        // The attempt itself took long enough.
        case .timedOut: .quick
        case .closedByPeer: .flapped
        default: .standard
        }
    }
}
