import Glibc
import NIOCore
import NIOPosix
import RelayTesting
import Testing

@testable import AccessoryLinks

// Which values are written to which file; Tests/VM covers the kernel behind the files.

@Suite("KernelGadget")
struct KernelGadgetTests {
    /// A tree of plain files.
    private func run(_ body: (GadgetLayout, RelayTesting.TemporaryDirectory) throws -> Void)
        async throws
    {
        try await RelayTesting.TemporaryDirectory.run { directory in
            var places = GadgetLayout.Places()
            places.gadgets = directory.path
            places.functions = directory.path
            places.controllers = directory.path
            let layout = GadgetLayout(places)
            let folders = [
                layout.gadget, "\(layout.gadget)/strings", "\(layout.gadget)/strings/0x409",
            ]
            for folder in folders { mkdir(folder, 0o755) }
            let files =
                layout.filesOfRelayd + ["ep0", "ep1", "ep2"].map { "\(layout.functionFS)/\($0)" }
            for file in files { close(open(file, O_WRONLY | O_CREAT, 0o600)) }
            defer {
                for file in files { unlink(file) }
                for folder in folders.reversed() { rmdir(folder) }
            }
            try body(layout, directory)
        }
    }

    private static func options(_ text: String = "gadget:?serial=S") throws -> GadgetOptions {
        try GadgetOptions(AccessoryAddress(text))
    }

    @Test("the descriptors go to endpoint 0, the identity and the controller to their files")
    func writes() async throws {
        try await run { layout, _ in
            let gadget = try KernelGadget(layout, Self.options())
            let expected = FunctionDescriptors().descriptorBytes + FunctionDescriptors().stringBytes
            var bytes = [UInt8](repeating: 0, count: 1000)
            let zero = open("\(layout.functionFS)/ep0", O_RDONLY)
            let count = read(zero, &bytes, bytes.count)
            close(zero)
            #expect(Array(bytes.prefix(max(0, count))) == expected)

            try gadget.appear(as: .phone, on: "x.udc")
            #expect(GadgetFile.read(layout.vendorFile) == "0x18d1")
            #expect(GadgetFile.read(layout.productFile) == "0x4ee1")
            try gadget.appear(as: .accessory, on: "x.udc")
            #expect(GadgetFile.read(layout.productFile) == "0x2d00")
            // A plain file keeps the overwritten rest; the kernel's file takes each write by itself.
            #expect(GadgetFile.read(layout.controllerFile) == "x.udc")
        }
    }

    @Test("calls on endpoint 0 wait for FunctionFS's lock, and for nothing else")
    func waitsForLock() async throws {
        try await run { layout, _ in
            let zero = "\(layout.functionFS)/ep0"
            unlink(zero)
            mkfifo(zero, 0o600)
            let gadget = try KernelGadget(layout, Self.options())
            // With O_NONBLOCK, FunctionFS gives up while another thread holds its lock.
            #expect(fcntl(gadget.zero, F_GETFL) & O_NONBLOCK == 0)
            // The descriptors, which a FIFO returns to the reader.
            while !gadget.events().isEmpty {}
            let enable = [UInt8](repeating: 0, count: SetupRequest.byteCount) + [2, 0, 0, 0]
            #expect(write(gadget.zero, enable, enable.count) == FunctionEvent.byteCount)
            #expect(gadget.events() == [.enable])
            #expect(gadget.events() == [])
        }
    }

    @Test("one relayd at a time has the gadget")
    func exclusive() async throws {
        try await run { layout, _ in
            let first = try KernelGadget(layout, Self.options())
            let options = try Self.options()
            do throws(LinkProblem) {
                _ = try KernelGadget(layout, options)
                Issue.record("two have it")
            } catch {
                #expect(error.code == .busy)
            }
            withExtendedLifetime(first) {}
        }
    }

    @Test("a machine that is not set up says how it is")
    func absent() async throws {
        var places = GadgetLayout.Places()
        places.functions = "/nonexistent"
        do {
            _ = try KernelGadget(GadgetLayout(places), Self.options())
            Issue.record("opened")
        } catch let problem as LinkProblem {
            #expect(problem.code == .absent)
            #expect(
                problem.message
                    == "this machine has not been set up as a phone: /nonexistent/relayd/ep0 does not exist"
            )
            #expect(problem.remedy == "run, as root: relayctl setup gadget")
        }
    }

    @Test("the kernel's news of a controller is told, that of other devices is not")
    func news() async throws {
        let ends = try OwnedDescriptor.socketPair()
        let told = Watched(0)
        let channel = try await DescriptorChannel.openReader(
            OwnedDescriptor(ends.0), on: MultiThreadedEventLoopGroup.singleton.next(),
            readSize: KernelNewsHandler.readSize
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    KernelNewsHandler(subsystem: "udc") { told.update { $0 += 1 } })
            }
        }
        func send(_ text: String) {
            let bytes = Array(text.utf8)
            _ = write(ends.1, bytes, bytes.count)
        }
        send("add@/devices/x/udc/y\0ACTION=add\0SUBSYSTEM=udc\0SEQNUM=7\0")
        try await told.wait(for: "the news") { $0 == 1 }
        send("add@/devices/x/tty/y\0ACTION=add\0SUBSYSTEM=tty\0SEQNUM=8\0")
        send("change@/devices/x/udc/y\0ACTION=change\0SUBSYSTEM=udc\0SEQNUM=9\0")
        try await told.wait(for: "more news") { $0 >= 2 }
        try await channel.close()
        close(ends.1)
    }
}
