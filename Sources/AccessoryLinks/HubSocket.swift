import Glibc

/// The device's end of a socket pair whose other end is the link's NIO channel, for devices that cannot be polled
/// like a socket: a thread that talks to such a device moves bytes between the device and this socket.
///
/// Never waits. Keeps track of the hub: whether it has finished, whether all that it sent has been taken, and
/// whether it still reads.
struct HubSocket: ~Copyable {
    /// The descriptor to poll; -1 once it is closed.
    private(set) var descriptor: CInt
    private var owned: OwnedDescriptor?
    /// The hub will send no more than what is in the socket already.
    private(set) var hubHasFinished = false
    /// The hub has finished, and all that it sent has been taken.
    private(set) var isDrained = false
    /// The hub no longer reads.
    private(set) var hubIsGone = false
    /// Bytes received from the hub, in all.
    private(set) var takenBytes = 0

    init(_ socket: consuming OwnedDescriptor) {
        descriptor = socket.rawValue
        owned = consume socket
    }

    /// The events to poll the socket for; nil when none matters.
    ///
    /// - Parameters:
    ///   - hasBytes: Bytes are waiting to be sent to the hub.
    ///   - hasRoom: There is room for bytes from the hub.
    func interest(hasBytes: Bool, hasRoom: Bool) -> Int16? {
        var events: Int16 = 0
        if !hubHasFinished {
            events |= Self.peerFinished
            if hasRoom { events |= Int16(POLLIN) }
        }
        if hasBytes, !hubIsGone { events |= Int16(POLLOUT) }
        return events == 0 ? nil : events
    }

    /// POLLRDHUP, which Glibc keeps for _GNU_SOURCE.
    private static let peerFinished: Int16 = 0x2000

    /// Takes note of the events that a poll reported.
    mutating func polled(_ events: Int16) {
        if events & (Self.peerFinished | Int16(POLLHUP) | Int16(POLLERR)) != 0 { finish() }
    }

    /// Acts as if the hub had finished.
    mutating func finish() { hubHasFinished = true }

    /// Sends to the hub.
    ///
    /// - Returns: How many bytes the hub took; 0 when it takes none now, or never again (`hubIsGone`).
    mutating func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        while !hubIsGone {
            let count = Glibc.send(
                descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
            if count >= 0 { return count }
            if errno == EAGAIN { return 0 }
            guard errno != EINTR else { continue }
            hubIsGone = true
            hubHasFinished = true
        }
        return 0
    }

    /// Takes what the hub has sent.
    ///
    /// - Returns: How many bytes were received; 0 when there are none now, or never again (`isDrained`).
    mutating func receive(_ buffer: UnsafeMutableRawPointer?, atMost room: Int) -> Int {
        while !isDrained {
            let count = recv(descriptor, buffer, room, CInt(MSG_DONTWAIT))
            if count > 0 {
                takenBytes += count
                return count
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // After `finish`, there need not be an end of file to read.
                isDrained = hubHasFinished
                return 0
            }
            hubHasFinished = true
            isDrained = true
        }
        return 0
    }

    /// Tells the hub of the end. Bytes that the hub has sent meanwhile are read and lost (its end of the pair
    /// counts them): left unread, they would reset the connection and discard what the hub has not read yet.
    mutating func close() {
        guard descriptor >= 0 else { return }
        shutdown(descriptor, CInt(SHUT_RD))
        withUnsafeTemporaryAllocation(byteCount: 32_768, alignment: 1) { buffer in
            while recv(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT)) > 0 {}
        }
        descriptor = -1
        owned = nil
    }
}
