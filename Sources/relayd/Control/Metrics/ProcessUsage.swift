import Glibc

/// Memory, processor time and descriptors of this process, as all Prometheus clients report them.
struct ProcessUsage: Sendable {
    var residentBytes: Int?
    var cpuSeconds: Double
    var openDescriptors: Int?

    static var current: ProcessUsage {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double {
            Double(time.tv_sec) + Double(time.tv_usec) / 1e6
        }
        return ProcessUsage(
            residentBytes: resident, cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            openDescriptors: descriptors)
    }

    /// Second number of /proc/self/statm, in pages (proc(5)).
    private static var resident: Int? {
        guard let file = fopen("/proc/self/statm", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let bytes = line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.split(separator: " ")
        return words.count > 1 ? Int(words[1]).map { $0 * Int(getpagesize()) } : nil
    }

    private static var descriptors: Int? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without ".", ".." and the descriptor used to read the directory.
        return max(0, count - 3)
    }
}
