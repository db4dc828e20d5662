import Glibc
import Testing

@testable import AccessoryLinks

// Runs on a packet socket, which the kernel's asynchronous calls read and write at once: a read without data
// ends with EAGAIN. Tests/VM covers real endpoints.

@Suite("BulkQueue")
struct BulkQueueTests {
    private func run(_ body: (_ own: CInt, _ other: CInt) throws -> Void) throws {
        var ends: [CInt] = [-1, -1]
        let kind = SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        #expect(socketpair(AF_UNIX, CInt(kind), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        try body(ends[0], ends[1])
    }

    private func read(_ queue: BulkQueue, room: Int = 4096) -> (count: Int, bytes: [UInt8]) {
        var bytes = [UInt8](repeating: 0, count: room)
        let count = bytes.withUnsafeMutableBytes { queue.read($0) }
        return (count, Array(bytes.prefix(max(0, count))))
    }

    @Test("packets come in their order, all that are there at once, then the failure")
    func reads() throws {
        try run { own, other in
            for first: UInt8 in [1, 3, 5] { #expect(send(other, [first, first + 1], 2, 0) == 2) }
            let queue = try BulkQueue(own, toHost: false, slots: 4, of: 512)
            #expect(read(queue).bytes == [1, 2, 3, 4, 5, 6])
            #expect(read(queue).count == -Int(EAGAIN))
            #expect(send(other, [7], 1, 0) == 1)
            #expect(read(queue).bytes == [7])
        }
    }

    @Test("a target without room for all of them gets the rest next, also of a packet")
    func pieces() throws {
        try run { own, other in
            #expect(send(other, [1, 2, 3] as [UInt8], 3, 0) == 3)
            #expect(send(other, [4, 5, 6] as [UInt8], 3, 0) == 3)
            let queue = try BulkQueue(own, toHost: false, slots: 2, of: 512)
            #expect(read(queue, room: 4).bytes == [1, 2, 3, 4])
            #expect(read(queue, room: 4).bytes == [5, 6])
        }
    }

    @Test("what had come before a failure is the rest, and after that the queue is as new")
    func rest() throws {
        try run { own, other in
            for byte: UInt8 in 1...3 { #expect(send(other, [byte], 1, 0) == 1) }
            let queue = try BulkQueue(own, toHost: false, slots: 4, of: 512)
            #expect(read(queue, room: 1).bytes == [1])
            var bytes = [UInt8](repeating: 0, count: 64)
            #expect(bytes.withUnsafeMutableBytes { queue.readRest($0) } == 2)
            #expect(bytes.prefix(2) == [2, 3])
            #expect(bytes.withUnsafeMutableBytes { queue.readRest($0) } == 0)
            #expect(send(other, [9], 1, 0) == 1)
            #expect(read(queue).bytes == [9])
        }
    }

    @Test(
        "what is written goes in transfers of a buffer; what failed is counted, and nothing twice")
    func writes() throws {
        try run { own, other in
            let queue = try BulkQueue(own, toHost: true, slots: 2, of: 4)
            let bytes: [UInt8] = [1, 2, 3, 4, 5]
            #expect(bytes.withUnsafeBytes { queue.write($0) } == 4)
            #expect(queue.flush() == 0)
            #expect(queue.lastDone == 4)
            #expect([].withUnsafeBytes { queue.write($0) } == 0)
            #expect(queue.flush() == 0)
            #expect(queue.lastDone == 0)
            #expect(queue.unread() == 0)
            var got = [UInt8](repeating: 0, count: 16)
            #expect(recv(other, &got, 16, 0) == 4)
            #expect(got.prefix(4) == [1, 2, 3, 4])
            #expect(recv(other, &got, 16, 0) == 0)

            shutdown(other, CInt(SHUT_RD))
            signal(SIGPIPE, SIG_IGN)
            #expect(bytes.withUnsafeBytes { queue.write($0) } == 4)
            #expect(bytes.withUnsafeBytes { queue.write($0) } == 4)
            // Both buffers are in use: now the failure of the first is noticed.
            #expect(bytes.withUnsafeBytes { queue.write($0) } == -Int(EPIPE))
            #expect(queue.flush() == -Int(EPIPE))
            #expect(queue.unread() == 8)
            #expect(queue.unread() == 0)
        }
    }

    @Test("a transfer that has ended rings until it is looked at; a failure stays until the end")
    func rings() throws {
        try run { own, other in
            let queue = try BulkQueue(own, toHost: true, slots: 2, of: 4)
            func rings() -> Bool {
                var polled = pollfd(fd: queue.news, events: Int16(POLLIN), revents: 0)
                return poll(&polled, 1, 0) > 0
            }
            let bytes: [UInt8] = [1, 2, 3, 4]
            #expect(!rings())
            #expect(queue.underWay() == 0)
            #expect(bytes.withUnsafeBytes { queue.write($0) } == 4)
            #expect(rings())
            #expect(queue.underWay() == 0)
            #expect(queue.lastDone == 4)
            #expect(!rings())

            shutdown(other, CInt(SHUT_RD))
            signal(SIGPIPE, SIG_IGN)
            #expect(bytes.withUnsafeBytes { queue.write($0) } == 4)
            #expect(rings())
            #expect(queue.underWay() == -Int(EPIPE))
            #expect(queue.underWay() == -Int(EPIPE))
            #expect(queue.unread() == 4)
            #expect(queue.underWay() == 0)
        }
    }
}
