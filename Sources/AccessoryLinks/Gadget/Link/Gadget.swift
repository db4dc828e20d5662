/// What the gadget's threads ask of the kernel: one call, one answer. `KernelGadget` is the real one.
///
/// Counts are negative errno values where a call failed.
protocol Gadget: Sendable {
    /// Of endpoint 0, to be polled: readable while an event or a request waits.
    var zero: CInt { get }

    /// Takes the events that wait; none when there are none, or when a request has become void meanwhile.
    func events() -> [FunctionEvent]

    /// Data for the host; ends the request.
    func answer(_ bytes: [UInt8]) -> Int
    /// Waits for so many bytes of the host's request; 0 acknowledges one without any.
    func take(_ count: Int) -> (count: Int, bytes: [UInt8])
    /// Refuses a request.
    func halt(_ request: SetupRequest)

    /// Bytes of a bulk packet at the speed of now.
    func packetBytes() -> Int
    /// From the host; waits for as long as the host has configured the gadget, then gives -ESHUTDOWN.
    func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int
    /// To the host; waits likewise until the host has read all of it. None is an empty packet.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int

    /// Goes on the bus of a controller.
    func appear(as face: AccessoryOnEndpointZero.Face, on controller: String) throws(LinkProblem)
    /// Leaves it; the bulk calls that wait end.
    func disappear()
}
