package import NIOCore

/// Adds the hub's handlers to a link's channel; runs on the link's loop, once per link, before the
/// channel becomes active.
package typealias ChannelSetup = @Sendable (any Channel) -> EventLoopFuture<Void>

/// A kind of way to reach the accessory: address in, connected byte channel out.
///
/// `LinkSupervisor` calls it; `TransportCatalog` lists every conformance. A transport knows nothing
/// of frames, of waiting or of trying again.
package protocol AccessoryTransport: Sendable {
    /// The word in front of the colon.
    static var scheme: String { get }

    /// One example address for the help text and the README. It must be a valid address.
    static var usage: String { get }

    /// What the transport reaches, in a few words, beside `usage` in the help text.
    static var summary: String { get }

    /// Reads path and options; nothing is opened or looked up.
    init(_ address: AccessoryAddress) throws(AddressError)

    /// The file whose coming and going tells when opening is worth a try; nil when there is none.
    /// Watched with inotify unless the transport brings its own `watch`.
    var deviceNode: String? { get }

    /// Starts watching for what makes opening worth a try; nil when only trying tells. `onChange`
    /// may be called on any thread. Who starts a watch looks at it afterwards, since earlier
    /// changes are not told.
    func watch(
        on loop: any EventLoop, onChange: @escaping @Sendable () -> Void
    ) async throws(LinkProblem) -> (any DevicePresence)?

    /// How soon to try again after an attempt that failed.
    func pace(after problem: LinkProblem) -> ReconnectPolicy.Pace

    /// What it knows of its links beyond their bytes; nil for one that knows nothing more.
    var details: LinkDetails? { get }

    /// Opens the accessory once. The channel lives on `loop`, has `configure`'s handlers in its
    /// pipeline and is active. On failure nothing stays open.
    func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel

    /// The same for a transport that the accessory connects to. It calls `listening` with the place, in
    /// words, once it can be reached, then waits as long as it takes, and throws when its task is
    /// cancelled. A transport that connects by itself never calls `listening`.
    func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup,
        listening: @escaping @Sendable (String) -> Void
    ) async throws(LinkProblem) -> any Channel
}

/// Whether the device is there to be opened. `LinkSupervisor` has one while the link is down; it
/// costs nothing between events.
package protocol DevicePresence: Sendable {
    /// Whether opening is worth a try now.
    var isWorthTrying: Bool { get }

    /// Why it is not, for the status.
    var absence: LinkProblem { get }

    /// Why news may not come; then the device is looked for from time to time instead.
    var failure: LinkProblem? { get }

    func stop()
}

extension AccessoryTransport {
    package var deviceNode: String? { nil }
    package var details: LinkDetails? { nil }

    package func pace(after problem: LinkProblem) -> ReconnectPolicy.Pace { .standard }

    package func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup,
        listening: @escaping @Sendable (String) -> Void
    ) async throws(LinkProblem) -> any Channel {
        try await open(on: loop, configure: configure)
    }

    package func watch(
        on loop: any EventLoop, onChange: @escaping @Sendable () -> Void
    ) async throws(LinkProblem) -> (any DevicePresence)? {
        guard let deviceNode else { return nil }
        return try await DeviceWatcher(node: deviceNode, on: loop, onChange: onChange)
    }
}
