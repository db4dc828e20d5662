import CShims
import Glibc
import NIOCore

/// The machine's USB device controllers, and which of them an address means.
struct DeviceControllers: Sendable {
    /// Lists the names of the controllers that are visible now.
    private let look: @Sendable () -> [String]

    init(look: @escaping @Sendable () -> [String]) { self.look = look }

    /// - Parameter directory: /sys/class/udc, with an entry for each controller.
    init(directory: String) { self.init { Self.entries(of: directory) } }

    var names: [String] { look() }

    private static func entries(of directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    /// - Parameter wanted: nil to choose the only one.
    func choose(_ wanted: String?) throws(LinkProblem) -> String {
        let names = names
        if let wanted {
            guard names.contains(wanted) else {
                let others = names.isEmpty ? "" : "; there is \(names.joined(separator: ", "))"
                let absent = GadgetProblem.absent(wanted)
                throw LinkProblem(.absent, absent.message + others, remedy: absent.remedy)
            }
            return wanted
        }
        guard let first = names.first else {
            throw LinkProblem(
                .absent, "this machine has no USB device controller, or its driver is not loaded",
                remedy: "see which boards have one, and how it is switched on, in be-the-phone.md; "
                    + "relayd goes on when it appears")
        }
        guard names.count == 1 else {
            throw LinkProblem(
                .ambiguous,
                "there are several USB device controllers: \(names.joined(separator: ", "))",
                remedy: "name the one whose port the head unit is at, as in gadget:?udc=\(first)")
        }
        return first
    }
}

/// Whether the controller is there; the kernel reports each that appears or disappears.
struct ControllerPresence: DevicePresence {
    private let controllers: DeviceControllers
    private let wanted: String?
    private let channel: any Channel

    init(
        _ controllers: DeviceControllers, _ wanted: String?, on loop: any EventLoop,
        onChange: @escaping @Sendable () -> Void
    ) async throws(LinkProblem) {
        self.controllers = controllers
        self.wanted = wanted
        var descriptor: CInt = -1
        let error = relay_uevent_open(&descriptor)
        guard error == 0 else {
            throw .system("the kernel's news of USB device controllers cannot be had", errno: error)
        }
        channel = try await DescriptorChannel.openReader(
            OwnedDescriptor(descriptor), on: loop, readSize: KernelNewsHandler.readSize
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    KernelNewsHandler(subsystem: "udc", onChange: onChange))
            }
        }
    }

    var isWorthTrying: Bool { obstacle == nil }
    var failure: LinkProblem? { nil }

    var absence: LinkProblem {
        obstacle ?? LinkProblem(.absent, "the USB device controller is just appearing")
    }

    private var obstacle: LinkProblem? {
        do throws(LinkProblem) {
            _ = try controllers.choose(wanted)
            return nil
        } catch {
            return error
        }
    }

    func stop() { channel.close(promise: nil) }
}

/// Reads the kernel's messages about devices: `ACTION@PATH`, then `NAME=VALUE`, each ended by a zero byte.
final class KernelNewsHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The kernel limits one message to 2 KB of variables and the path in front.
    static let readSize = 8192

    private let line: [UInt8]
    private let onChange: @Sendable () -> Void
    private var changed = false

    init(subsystem: String, onChange: @escaping @Sendable () -> Void) {
        line = Array("SUBSYSTEM=\(subsystem)".utf8)
        self.onChange = onChange
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let message = unwrapInboundIn(data).readableBytesView
        if message.split(separator: 0).contains(where: { $0.elementsEqual(line) }) {
            changed = true
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard changed else { return }
        changed = false
        onChange()
    }

    /// More messages than the socket holds: a missed one may have been about the controller.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        onChange()
    }
}
