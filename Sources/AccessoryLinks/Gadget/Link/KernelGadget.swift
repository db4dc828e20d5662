import CShims
import Glibc

/// The gadget that `GadgetLayout` describes, opened with only the rights that its composer has given.
final class KernelGadget: Gadget {
    private let layout: GadgetLayout
    private let options: GadgetOptions
    private let serial: String
    private let endpointZero: OwnedDescriptor
    private let toHostEndpoint: OwnedDescriptor
    private let fromHostEndpoint: OwnedDescriptor

    /// Together as many bytes as a USB link has under way.
    private static let transfersToHost = 4
    /// As many packets as arrive in two milliseconds at high speed: relayd may have been asleep.
    private static let packetsFromHost = Int(RELAY_TRANSFERS)
    /// Tells FunctionFS what the function is, which lasts until these descriptors are closed: the kernel then takes
    /// the gadget off the bus, however relayd has ended.
    init(_ layout: GadgetLayout, _ options: GadgetOptions) throws(LinkProblem) {
        self.layout = layout
        self.options = options
        serial = options.phone.serial ?? Self.machineSerial
        let zero = try Self.openZero(layout)
        let descriptors = FunctionDescriptors(hasADB: options.hasADB)
        for bytes in [descriptors.descriptorBytes, descriptors.stringBytes] {
            let count = Glibc.write(zero.rawValue, bytes, bytes.count)
            guard count == bytes.count else {
                throw .system(
                    "FunctionFS refused the gadget's descriptors", errno: count < 0 ? errno : EIO)
            }
        }
        endpointZero = zero
        // Returns EAGAIN instead of waiting for a host that has just gone: only the next host would end that wait.
        toHostEndpoint = try Self.open("\(layout.functionFS)/ep1", O_WRONLY | O_NONBLOCK)
        fromHostEndpoint = try Self.open("\(layout.functionFS)/ep2", O_RDONLY | O_NONBLOCK)
    }

    private static func openZero(_ layout: GadgetLayout) throws(LinkProblem) -> OwnedDescriptor {
        let path = "\(layout.functionFS)/ep0"
        // Not O_NONBLOCK: FunctionFS would then only try its lock (ffs_mutex_lock). While one thread held it,
        // another would be told that there is no event, and a request's answer would fail with EAGAIN.
        let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw GadgetProblem.opening(path, errno: errno) }
        let owned = OwnedDescriptor(descriptor)
        // If two relayds answered the same requests, each would get every other one.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw LinkProblem(
                .busy, "another relayd has the gadget at \(layout.functionFS)",
                remedy: "end it, or use it: one machine is one phone")
        }
        return owned
    }

    private static func open(_ path: String, _ flags: CInt) throws(LinkProblem) -> OwnedDescriptor {
        let descriptor = Glibc.open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("\(path) could not be opened", errno: errno) }
        return OwnedDescriptor(descriptor)
    }

    private static var machineSerial: String {
        PhoneIdentity.serial(machineID: GadgetFile.read("/etc/machine-id") ?? "")
    }

    // MARK: Endpoint 0

    var zero: CInt { endpointZero.rawValue }

    func events() -> [FunctionEvent] {
        // A read would wait for the next one.
        guard hasNews == true else { return [] }
        return withUnsafeTemporaryAllocation(
            byteCount: FunctionEvent.maximumPending * FunctionEvent.byteCount, alignment: 4
        ) { buffer in
            // EIDRM: the host has begun another request, or has gone, before it was answered.
            let count = Glibc.read(zero, buffer.baseAddress, buffer.count)
            guard count > 0 else { return [] }
            return FunctionEvent.parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    func answer(_ bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes { Self.counted(Glibc.write(zero, $0.baseAddress, $0.count)) }
    }

    func take(_ count: Int) -> (count: Int, bytes: [UInt8]) {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = bytes.withUnsafeMutableBytes {
            Self.counted(Glibc.read(zero, $0.baseAddress, count))
        }
        return (got, got > 0 ? Array(bytes.prefix(got)) : [])
    }

    /// FunctionFS halts endpoint 0 when it is read or written against the request's direction (EL2HLT).
    func halt(_ request: SetupRequest) {
        var nothing: UInt8 = 0
        if request.isIn {
            _ = Glibc.read(zero, &nothing, 0)
        } else {
            _ = Glibc.write(zero, &nothing, 0)
        }
    }

    // MARK: Bulk endpoints

    func packetBytes() -> Int {
        var bytes: UInt16 = 0
        guard relay_functionfs_packet_bytes(fromHostEndpoint.rawValue, &bytes) == 0, bytes > 0
        else {
            return ShortPackets.usualPacketBytes
        }
        return Int(bytes)
    }

    func fromHost(packetBytes: Int) throws(LinkProblem) -> any BulkFromHost {
        try BulkQueue(
            fromHostEndpoint.rawValue, toHost: false, slots: Self.packetsFromHost, of: packetBytes)
    }

    func toHost() throws(LinkProblem) -> any BulkToHost {
        try BulkQueue(
            toHostEndpoint.rawValue, toHost: true, slots: Self.transfersToHost,
            of: ShortPackets.transferBytes)
    }

    private static func counted(_ result: Int) -> Int { result < 0 ? -Int(errno) : result }

    // MARK: On the bus

    func appear(
        as face: AccessoryOnEndpointZero.Face, on controller: String
    ) throws(LinkProblem) {
        for (file, content) in layout.identity(face, options, serial: serial) {
            let error = GadgetFile.write(file, content)
            guard error == 0 else { throw GadgetProblem.writing(file, errno: error) }
        }
        // A controller that has gone away is still named in this file.
        _ = GadgetFile.write(layout.controllerFile, "\n")
        let error = GadgetFile.write(layout.controllerFile, controller)
        guard error == 0 else {
            throw GadgetProblem.binding(controller, errno: error, layout.places)
        }
    }

    func disappear() {
        // ENODEV: it is not on a bus.
        _ = GadgetFile.write(layout.controllerFile, "\n")
    }
}

/// The small files of configfs and sysfs.
enum GadgetFile {
    /// - Returns: 0, or an errno value.
    static func write(_ path: String, _ content: String) -> CInt {
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno }
        let owned = OwnedDescriptor(descriptor)
        let bytes = Array(content.utf8)
        return Glibc.write(owned.rawValue, bytes, bytes.count) < 0 ? errno : 0
    }

    /// The content without the line's end; nil when it cannot be read.
    static func read(_ path: String) -> String? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let owned = OwnedDescriptor(descriptor)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(owned.rawValue, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        return String(decoding: bytes.prefix(count).prefix { $0 != 0x0A }, as: UTF8.self)
    }
}
