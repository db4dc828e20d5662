import Glibc

/// The calls that the gadget's threads make to the kernel: one call, one answer. `KernelGadget` is the real one.
///
/// Counts are negative errno values where a call failed.
protocol Gadget: Sendable {
    /// The descriptor of endpoint 0, to be polled: readable while an event or a request waits. What the poll
    /// reports is always true; while a request is under way, the poll may have to wait for the host.
    var zero: CInt { get }

    /// Takes the pending events; none when there are none, or when a request has become void meanwhile.
    func events() -> [FunctionEvent]

    /// Sends data to the host; ends the request.
    func answer(_ bytes: [UInt8]) -> Int
    /// Waits for this many bytes of the host's request; 0 acknowledges a request without data.
    func take(_ count: Int) -> (count: Int, bytes: [UInt8])
    /// Refuses a request.
    func halt(_ request: SetupRequest)

    /// Bytes of a bulk packet at the current speed; does not wait, although the host may have just gone.
    func packetBytes() -> Int
    /// The bulk endpoints for one link, each for the thread that asks for it.
    func fromHost(packetBytes: Int) throws(LinkProblem) -> any BulkFromHost
    func toHost() throws(LinkProblem) -> any BulkToHost

    /// Puts the gadget on the bus of a controller.
    func appear(as face: AccessoryOnEndpointZero.Face, on controller: String) throws(LinkProblem)
    /// Takes the gadget off the bus; bulk calls that wait end.
    func disappear()
}

extension Gadget {
    /// Whether an event or a request waits on endpoint 0; nil when a signal arrived before that was known.
    var hasNews: Bool? {
        var polled = pollfd(fd: zero, events: Int16(POLLIN), revents: 0)
        let count = poll(&polled, 1, 0)
        return count < 0 ? nil : count > 0
    }
}

/// The endpoint from the host, during one link.
protocol BulkFromHost: AnyObject {
    /// Reads bytes that have come, at least a packet, in order; the buffer must have room for a packet. Requests
    /// one packet at a time, many times ahead, and after a full one lets others gather. Waits for as long as the
    /// host has configured the gadget, then gives -ESHUTDOWN, or -EAGAIN.
    func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int
    /// After the last `read`, when the gadget is no longer configured: reads the bytes that had come before. 0 when
    /// there are no more.
    func readRest(_ buffer: UnsafeMutableRawBufferPointer) -> Int
}

/// The endpoint to the host, during one link.
protocol BulkToHost: AnyObject {
    /// Writes a transfer of at most `ShortPackets.transferBytes`; no bytes make an empty packet. Runs ahead of the
    /// host by a few transfers, then waits for it. Fails when an earlier one has failed, and then takes none of
    /// these bytes.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int
    /// How many transfers the controller has not finished, or the failure of one. Does not wait.
    func underWay() -> Int
    /// A descriptor to poll: readable when a transfer has ended since `underWay` was last called.
    var news: CInt { get }
    /// Waits until the controller has finished what was written; 0 when it has. The host need not have read the
    /// last packet, as some controllers report a packet as done while it is still in their memory.
    func flush() -> Int
    /// Bytes of the last transfer that the controller has finished; 0 after an empty packet.
    var lastDone: Int { get }
    /// Bytes of the transfers that the controller had not finished; called after the last `write`, when the gadget
    /// is no longer configured.
    func unread() -> Int
}
