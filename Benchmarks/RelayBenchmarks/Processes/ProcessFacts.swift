// The kernel's facts about a process: memory, threads, how often they woke up.

import Foundation

/// Facts from /proc about a process.
struct ProcessFacts {
    let processID: pid_t

    /// One thread, as /proc/PID/task/TID describes it.
    struct Thread {
        var name: String
        /// How often it went to sleep by itself, hence was woken up.
        var voluntarySwitches: Int
        var involuntarySwitches: Int
        /// Processor time in nanoseconds.
        var processorNanoseconds: Int
    }

    /// Resident bytes, and those among them that are not backed by a file.
    func memory() throws -> (resident: Int, anonymous: Int) {
        let fields = try Self.fields(of: "/proc/\(processID)/smaps_rollup")
        guard let resident = fields["Rss"], let anonymous = fields["Anonymous"] else {
            throw BenchmarkError("/proc/\(processID)/smaps_rollup tells no Rss and Anonymous")
        }
        return (resident * 1024, anonymous * 1024)
    }

    func threads() throws -> [Int: Thread] {
        let directory = "/proc/\(processID)/task"
        var threads: [Int: Thread] = [:]
        for entry in try FileManager.default.contentsOfDirectory(atPath: directory) {
            // Threads may end while we look.
            guard let id = Int(entry),
                let fields = try? Self.fields(of: "\(directory)/\(entry)/status"),
                let name = try? Self.text(of: "\(directory)/\(entry)/comm"),
                let schedule = try? Self.text(of: "\(directory)/\(entry)/schedstat")
            else { continue }
            threads[id] = Thread(
                name: name.trimmingCharacters(in: .whitespacesAndNewlines),
                voluntarySwitches: fields["voluntary_ctxt_switches"] ?? 0,
                involuntarySwitches: fields["nonvoluntary_ctxt_switches"] ?? 0,
                processorNanoseconds: Int(schedule.split(separator: " ").first ?? "") ?? 0)
        }
        return threads
    }

    /// ID of the thread on which relayd forwards frames.
    func relayLoop() throws -> Int {
        let threads = try threads()
        guard let loop = threads.first(where: { $0.value.name == "relay" }) else {
            let names = threads.values.map(\.name).sorted().joined(separator: ", ")
            throw BenchmarkError("process \(processID) has no thread relay, only \(names)")
        }
        return loop.key
    }

    static func text(of path: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }

    /// Lines of the form "Name:   123 kB".
    private static func fields(of path: String) throws -> [String: Int] {
        var fields: [String: Int] = [:]
        for line in try text(of: path).split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2,
                let number = parts[1].split(whereSeparator: { $0 == " " || $0 == "\t" }).first
            else { continue }
            fields[String(parts[0])] = Int(number)
        }
        return fields
    }
}
