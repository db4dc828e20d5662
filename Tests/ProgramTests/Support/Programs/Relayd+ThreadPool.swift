// Whether relayd sleeps when nothing happens.

import Foundation
import RelayTesting
import Testing

extension Relayd {
    /// Swift's own thread pool is libdispatch's, which checks its threads every second from its first
    /// task on. libdispatch sets its timers to an absolute time, NIO to a time from now.
    func expectNoThreadPool() throws {
        let timers = try timers()
        #expect(!timers.isEmpty, "each event loop has one")
        #expect(timers.allSatisfy { $0 == "00" }, "\(timers)")
    }

    /// The flags that each timer was set with (proc(5), fdinfo of a timerfd).
    private func timers() throws -> [String] {
        let (files, folder) = (FileManager.default, "/proc/\(process.pid)")
        return try files.contentsOfDirectory(atPath: "\(folder)/fd").compactMap { number in
            let target = try? files.destinationOfSymbolicLink(atPath: "\(folder)/fd/\(number)")
            guard target == "anon_inode:[timerfd]" else { return nil }
            let lines = try? String(contentsOfFile: "\(folder)/fdinfo/\(number)", encoding: .utf8)
            return lines?.split(separator: "\n").first { $0.hasPrefix("settime flags:") }
                .map { String($0.dropFirst("settime flags:".count).drop { $0 == " " }) }
        }
    }
}
