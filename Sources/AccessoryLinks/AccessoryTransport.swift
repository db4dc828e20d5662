package import NIOCore

/// Adds the hub's handlers to a link's channel; runs on the link's loop, once per link, before the
/// channel becomes active.
package typealias ChannelSetup = @Sendable (any Channel) -> EventLoopFuture<Void>

/// One way to reach the accessory: takes an address and gives a connected byte channel.
///
/// `LinkSupervisor` calls it; `TransportCatalog` lists every conformance. A transport knows nothing of frames,
/// waits or retries.
package protocol AccessoryTransport: Sendable {
    /// The word in front of the colon.
    static var scheme: String { get }

    /// One example address for the help text and the README. It must be a valid address.
    static var usage: String { get }

    /// What the transport reaches, in a few words, beside `usage` in the help text.
    static var summary: String { get }

    /// Reads path and options; nothing is opened or looked up.
    init(_ address: AccessoryAddress) throws(AddressError)

    /// The file whose appearance and removal show when opening is worth a try; nil when there is none. Watched with
    /// inotify unless the transport brings its own `watch`.
    var deviceNode: String? { get }

    /// Starts watching for changes that make opening worth a try; nil when only an attempt can tell. `onChange` may
    /// be called on any thread. The caller then checks `isWorthTrying`, since earlier changes are not reported.
    func watch(
        on loop: any EventLoop, onChange: @escaping @Sendable () -> Void
    ) async throws(LinkProblem) -> (any DevicePresence)?

    /// How soon to try again after an attempt that failed.
    func pace(after problem: LinkProblem) -> ReconnectPolicy.Pace

    /// What the transport knows about its links beyond their bytes; nil if nothing.
    var details: LinkDetails? { get }

    /// Opens the accessory once. The channel lives on `loop`, has `configure`'s handlers in its
    /// pipeline and is active. On failure nothing stays open.
    func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel

    /// The same for a transport that the accessory connects to. Such a transport calls `listening` with the place,
    /// in words, once it can be reached, then waits as long as it takes, and throws when its task is cancelled. A
    /// transport that connects by itself never calls `listening`.
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

    /// Why opening is not worth a try, for the status.
    var absence: LinkProblem { get }

    /// Why changes may go unnoticed; the device is then checked from time to time instead.
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
