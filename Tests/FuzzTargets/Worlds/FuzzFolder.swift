import Foundation

/// A folder for the files of one input; its creator removes it.
struct FuzzFolder {
    let path: String

    /// In memory if possible: relayctl flushes its files to disk (fsync), which takes a hundred times as long
    /// as everything else an input costs.
    private static let parent = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp"

    init() throws {
        var name = Array("\(Self.parent)/relay-fuzz-XXXXXX\0".utf8CString)
        guard mkdtemp(&name) != nil else { throw BrokenPromise("no folder: \(errno)") }
        path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        try Data(bytes).write(to: URL(filePath: file(name)))
        return file(name)
    }

    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path)
    }
}
