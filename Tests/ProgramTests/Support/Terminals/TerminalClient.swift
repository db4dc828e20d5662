// A program that opens a serial port which relayd provides.

import Glibc
import NIOCore
import RelayTesting
import Testing

/// Its descriptor has to be closed with `close`.
struct TerminalClient {
    let descriptor: CInt

    /// Opens a port as pyserial does.
    init(_ path: String) throws {
        descriptor = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        try #require(descriptor >= 0, "\(path): \(String(cString: strerror(errno)))")
    }

    func close() { Glibc.close(descriptor) }

    func says(_ text: String) async throws {
        var rest = Array(text.utf8)[...]
        try await until("\(text) is taken", POLLOUT) {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) }
            return rest.isEmpty
        }
    }

    func hears(_ text: String) async throws {
        let heard = try await next(bytes: text.utf8.count)
        #expect(String(decoding: heard, as: UTF8.self) == text)
    }

    func next(bytes count: Int) async throws -> [UInt8] {
        var heard: [UInt8] = []
        try await until("\(count) bytes have come") {
            var buffer = [UInt8](repeating: 0, count: count - heard.count)
            let got = read(descriptor, &buffer, buffer.count)
            if got > 0 { heard += buffer.prefix(got) }
            return heard.count == count
        }
        return heard
    }

    /// Returns when the other side has hung up; reads what came before.
    func hungUp() async throws {
        try await until("relayd hangs up") {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let got = read(descriptor, &buffer, buffer.count)
            return got == 0 || (got < 0 && errno == EIO)
        }
    }

    /// Writes as many bytes as the port takes now, and returns their number.
    func floods(_ bytes: [UInt8]) -> Int { max(0, write(descriptor, bytes, bytes.count)) }

    /// Looks again whenever there is something to read, or room to write.
    private func until(
        _ what: String, _ event: Int32 = POLLIN, _ isSo: () -> Bool
    ) async throws {
        let patience = Int32(FramePeer.patience.nanoseconds / 1_000_000)
        var hasHungUp = false
        while !isSo() {
            guard !hasHungUp else { throw NeverSo(what: what) }
            hasHungUp = try await blocking { [descriptor] in
                var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
                guard poll(&entry, 1, patience) == 1 else { throw NeverSo(what: what) }
                // What came before is still to be read.
                return Int32(entry.revents) & (POLLHUP | POLLIN) == POLLHUP
            }
        }
    }

    struct NeverSo: Error {
        let what: String
    }
}
