import Glibc

/// What the gadget's threads ask of the kernel: one call, one answer. `KernelGadget` is the real one.
///
/// Counts are negative errno values where a call failed.
protocol Gadget: Sendable {
    /// Of endpoint 0, to be polled: readable while an event or a request waits. The answer is always true; while a
    /// request is under way, it may have to wait for the host.
    var zero: CInt { get }

    /// Takes the events that wait; none when there are none, or when a request has become void meanwhile.
    func events() -> [FunctionEvent]

    /// Data for the host; ends the request.
    func answer(_ bytes: [UInt8]) -> Int
    /// Waits for so many bytes of the host's request; 0 acknowledges one without any.
    func take(_ count: Int) -> (count: Int, bytes: [UInt8])
    /// Refuses a request.
    func halt(_ request: SetupRequest)

    /// Bytes of a bulk packet at the speed of now; waits for nothing, although the host may have just gone.
    func packetBytes() -> Int
    /// The bulk endpoints, for one link: each for the thread that asks for it.
    func fromHost(packetBytes: Int) throws(LinkProblem) -> any BulkFromHost
    func toHost() throws(LinkProblem) -> any BulkToHost

    /// Goes on the bus of a controller.
    func appear(as face: AccessoryOnEndpointZero.Face, on controller: String) throws(LinkProblem)
    /// Leaves it; the bulk calls that wait end.
    func disappear()
}

extension Gadget {
    /// Whether an event or a request waits on endpoint 0; nil when a signal came before that was known.
    var hasNews: Bool? {
        var polled = pollfd(fd: zero, events: Int16(POLLIN), revents: 0)
        let count = poll(&polled, 1, 0)
        return count < 0 ? nil : count > 0
    }
}

/// The endpoint from the host, during one link.
protocol BulkFromHost: AnyObject {
    /// What has come, at least a packet, in order; there is room for a packet. Asks for one packet at a time, many
    /// times ahead, and leaves those that follow a full one to gather. Waits for as long as the host has configured
    /// the gadget, then gives -ESHUTDOWN, or -EAGAIN.
    func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int
    /// After the last `read`, with the gadget no more configured: what had come before. None when that was all.
    func readRest(_ buffer: UnsafeMutableRawBufferPointer) -> Int
}

/// The endpoint to the host, during one link.
protocol BulkToHost: AnyObject {
    /// A transfer of at most `ShortPackets.transferBytes`; no bytes are an empty packet. Runs ahead of the host by
    /// a few transfers, then waits for it. Fails when one before has failed, with none of these bytes taken.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int
    /// How many transfers the controller is not done with, or the failure of one. Waits for nothing.
    func underWay() -> Int
    /// To be polled: readable when one has ended since `underWay` was last called.
    var news: CInt { get }
    /// Waits until the controller is done with what was written; 0 when it is. The host need not have read the last
    /// packet of it, as some controllers are done with a packet that lies in their memory.
    func flush() -> Int
    /// Bytes of the last transfer with which the controller is done; 0 after an empty packet.
    var lastDone: Int { get }
    /// After the last `write`, with the gadget no more configured: bytes of the transfers with which the controller
    /// was not done.
    func unread() -> Int
}
