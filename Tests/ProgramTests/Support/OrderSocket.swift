// How a test tells a stand-in what to do.

import Glibc
import RelayTesting

/// A Unix socket on which a stand-in takes orders, one per line, each answered by a line that begins with "ok".
struct OrderSocket {
    private let descriptor: CInt

    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience,
            socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard connected == 0 else { throw SystemFailure("\(path) does not answer") }
    }

    func close() { Glibc.close(descriptor) }

    /// Gives an order, and blocks until it is carried out.
    ///
    /// - Returns: the rest of the answer after "ok".
    func tell(_ order: String) throws -> Substring {
        let line = Array((order + "\n").utf8)
        guard write(descriptor, line, line.count) == line.count else {
            throw SystemFailure("\(order) could not be told")
        }
        var answer: [UInt8] = []
        var byte: UInt8 = 0
        while answer.last != UInt8(ascii: "\n") {
            guard read(descriptor, &byte, 1) == 1 else {
                throw SystemFailure("no answer to \(order)")
            }
            answer.append(byte)
        }
        let text = String(decoding: answer.dropLast(), as: UTF8.self)
        guard text.hasPrefix("ok") else { throw Refused(description: "\(order): \(text)") }
        return text.dropFirst(2)
    }
}
