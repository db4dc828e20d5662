// The service manager's side of sd_notify(3): hears when relayd is ready.

import Glibc

/// A datagram socket that programs send their state to. It blocks, because the moment of a message is measured;
/// the one of ProgramTests collects lines on an event loop.
final class NotifySocket {
    let path: String
    private let descriptor: Int32

    init(path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw BenchmarkError.system("socket") }
        unlink(path)
        var address = try sockaddr_un(path: path)
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length)
            }
        }
        guard result == 0 else { throw BenchmarkError.system("bind \(path)") }
        try Socket.limitWaiting(descriptor, seconds: Socket.patienceSeconds)
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    /// Waits until a program has said that it is ready; returns the time of that.
    func awaitReady() throws -> Double {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            let moment = Clock.now()
            guard count > 0 else { throw BenchmarkError.system("waiting for READY=1") }
            let text = String(decoding: buffer[..<count], as: UTF8.self)
            if text.split(separator: "\n").contains("READY=1") { return moment }
        }
    }
}

extension sockaddr_un {
    init(path: String) throws {
        self.init()
        sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: sun_path) else {
            throw BenchmarkError("the path \(path) is too long for a Unix socket")
        }
        withUnsafeMutableBytes(of: &sun_path) { $0.copyBytes(from: bytes) }
    }
}
