import Glibc
import NIOCore
import NIOPosix
import RelayTesting
import Testing

@testable import AccessoryLinks

@Suite("Addresses of Bluetooth head units")
struct BluetoothTransportTests {
    private func wish(_ text: String) throws -> BlueZDialogue.Wish {
        let transport = try TransportCatalog.transport(for: AccessoryAddress(text))
        return try #require(transport as? BluetoothTransport).wish
    }

    @Test("listening, or a unit's address, with its options")
    func reads() throws {
        let sdl = "936da01f-9abd-4d9d-80c7-02af85c822a8"
        #expect(try wish("bluetooth:listen") == .init(uuid: sdl))
        #expect(
            try wish("bluetooth:Listen?channel=7&adapter=hci1")
                == .init(uuid: sdl, channel: 7, adapter: "hci1"))
        let unit = BluetoothAddress("00:1A:7D:DA:71:0F")
        #expect(try wish("bluetooth:00:1a:7d:da:71:0f") == .init(device: unit, uuid: sdl))
        #expect(
            try wish("bluetooth:00:1A:7D:DA:71:0F?channel=30")
                == .init(device: unit, uuid: sdl, channel: 30))
        #expect(
            try wish("bluetooth:listen?uuid=AB5D73F2-9ABD-4D9D-80C7-02AF85C822A8").uuid
                == "ab5d73f2-9abd-4d9d-80c7-02af85c822a8")
        // A vehicle interface has a serial port.
        #expect(try wish("openxc+bluetooth:00:1A:7D:DA:71:0F").uuid.hasPrefix("00001101-"))
        #expect(unit?.description == "00:1A:7D:DA:71:0F")
    }

    @Test(
        "what is wrong is said, with what is expected",
        arguments: [
            ("bluetooth:", "expected bluetooth:listen"),
            ("bluetooth:SYNC", "\"SYNC\""),
            ("bluetooth:00:1A:7D:DA:71", "is no Bluetooth address"),
            ("bluetooth:00:1A:7D:DA:71:0G", "is no Bluetooth address"),
            ("bluetooth:+0:1A:7D:DA:71:0F", "is no Bluetooth address"),
            ("bluetooth:listen?channel=0", "from 1 to 30"),
            ("bluetooth:listen?channel=31", "from 1 to 30"),
            ("bluetooth:listen?uuid=936da01f", "expected a UUID"),
            ("bluetooth:listen?adapter=usb0", "expected the name of a Bluetooth adapter"),
            ("bluetooth:listen?baud=9600", "unknown option \"baud\""),
            ("bluetooth:00:1A:7D:DA:71:0F?channel=1&adapter=hci0", "give channel= alone"),
        ])
    func refuses(address: String, words: String) {
        let error = #expect(throws: AddressError.self) { try wish(address) }
        #expect(error?.message.contains(words) == true, "\(String(describing: error))")
    }

    @Test("a channel on a machine without Bluetooth is an error with words, not a wait")
    func noKernel() async throws {
        let address = try AccessoryAddress("bluetooth:00:1A:7D:DA:71:0F?channel=1")
        let transport = try TransportCatalog.transport(for: address)
        // Where a kernel has Bluetooth there may still be no adapter.
        let codes: [LinkProblem.Code] = [.unsupported, .unreachable]
        do throws(LinkProblem) {
            _ = try await transport.open(
                on: MultiThreadedEventLoopGroup.singleton.next(),
                configure: { $0.eventLoop.makeSucceededVoidFuture() })
            Issue.record("it was opened")
        } catch {
            #expect(codes.contains(error.code), "\(error)")
            #expect(error.remedy != nil)
        }
    }

    @Test(
        "the link's end is told as Bluetooth's, unless relayd has closed it",
        arguments: [true, false])
    func hangUp(closedHere: Bool) async throws {
        let ends = try OwnedDescriptor.socketPair()
        let peer = OwnedDescriptor(ends.1)
        let told = Watched<[LinkProblem]>([])
        let channel = try await DescriptorChannel.open(
            socket: OwnedDescriptor(ends.0), on: MultiThreadedEventLoopGroup.singleton.next()
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers(
                    BluetoothLinkHandler(device: "SYNC"), Listener(told))
                // A real socket reports the free room, which is not a queue.
                #expect(LinkOutputQueue.gauge(of: channel)() == 0)
            }
        }
        if closedHere {
            try await channel.close()
        } else {
            shutdown(peer.rawValue, CInt(SHUT_RDWR))
            try await withDeadline("the end") { try await channel.closeFuture.get() }
        }
        let problems = told.value.map(\.description)
        #expect(
            problems
                == (closedHere ? [] : ["SYNC has disconnected from Bluetooth, or is out of range"]))
    }

    private final class Listener: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let told: Watched<[LinkProblem]>

        init(_ told: Watched<[LinkProblem]>) { self.told = told }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            guard let problem = error as? LinkProblem else { return }
            told.update { $0.append(problem) }
        }
    }
}
