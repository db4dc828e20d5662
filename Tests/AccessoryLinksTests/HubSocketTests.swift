// The device's end of the socket pair between it and the hub; the test plays the hub.

import Glibc
import NIOCore
import Testing

@testable import AccessoryLinks

@Suite("The device's end of a socket pair between it and the hub")
struct HubSocketTests {
    /// Runs `body` with both ends; the hub's end is blocking.
    private func pair(_ body: (inout HubSocket, CInt) throws -> Void) throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        var socket = HubSocket(OwnedDescriptor(ends[0]))
        defer { Glibc.close(ends[1]) }
        try body(&socket, ends[1])
    }

    private func send(_ text: String, to socket: inout HubSocket) -> Int {
        Array(text.utf8).withUnsafeBytes { socket.send($0) }
    }

    private func received(_ socket: inout HubSocket, atMost room: Int = 100) -> String {
        var buffer = [UInt8](repeating: 0, count: room)
        let count = buffer.withUnsafeMutableBytes {
            socket.receive($0.baseAddress, atMost: room)
        }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }

    @Test("bytes go both ways, no more at a time than there is room for, and nothing waits")
    func dialogue() throws {
        try pair { socket, hub in
            #expect(received(&socket) == "" && !socket.isDrained)
            #expect(write(hub, "StartService", 12) == 12)
            #expect(received(&socket, atMost: 5) == "Start")
            #expect(received(&socket) == "Service")
            #expect(socket.takenBytes == 12)
            #expect(send("ACK", to: &socket) == 3)
            var heard = [UInt8](repeating: 0, count: 3)
            #expect(read(hub, &heard, 3) == 3 && heard == Array("ACK".utf8))
        }
    }

    @Test("a hub that reads nothing takes its fill, then none, and is no lost hub")
    func full() throws {
        try pair { socket, _ in
            let block = String(repeating: "x", count: 65_536)
            while send(block, to: &socket) > 0 {}
            #expect(!socket.hubIsGone && !socket.hubHasFinished)
            #expect(
                socket.interest(hasBytes: true, hasRoom: false).map { $0 & Int16(POLLOUT) } != 0)
        }
    }

    @Test("what the hub said before it finished is taken, then it is drained")
    func finished() throws {
        try pair { socket, hub in
            #expect(write(hub, "bye", 3) == 3)
            shutdown(hub, CInt(SHUT_WR))
            socket.polled(Int16(POLLIN) | 0x2000)
            #expect(socket.hubHasFinished && !socket.isDrained)
            #expect(received(&socket) == "bye")
            #expect(received(&socket) == "" && socket.isDrained)
            // It still reads.
            #expect(send("ACK", to: &socket) == 3)
            #expect(socket.interest(hasBytes: false, hasRoom: true) == nil)
        }
    }

    @Test("a hub that is gone takes nothing, and nobody is killed by it")
    func gone() throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        var socket = HubSocket(OwnedDescriptor(ends[0]))
        Glibc.close(ends[1])
        #expect(send("late", to: &socket) == 0)
        #expect(socket.hubIsGone && socket.hubHasFinished)
        #expect(received(&socket) == "" && socket.isDrained)
        socket.close()
        #expect(socket.descriptor == -1)
    }

    @Test("what the hub sends behind the end is thrown away, so that it can read what came before")
    func close() throws {
        try pair { socket, hub in
            #expect(send("last words", to: &socket) == 10)
            #expect(write(hub, "too late", 8) == 8)
            socket.close()
            var heard = [UInt8](repeating: 0, count: 10)
            #expect(read(hub, &heard, 10) == 10)
            #expect(String(decoding: heard, as: UTF8.self) == "last words")
            #expect(read(hub, &heard, 10) == 0)
        }
    }
}
