/// A tar archive of small files in the making, as tar(5) has it. Used by `relayctl bugreport`.
struct TarFile: Sendable {
    private var blocks: [UInt8] = []
    private static let blockBytes = 512

    /// - Parameters:
    ///   - name: ASCII, at most 100 bytes.
    ///   - time: Seconds since 1970.
    mutating func add(_ name: String, _ text: String, time: Int) {
        let content = Array(text.utf8)
        var header = [UInt8](repeating: 0, count: Self.blockBytes)
        func put(_ text: String, at offset: Int, _ length: Int) {
            for (index, byte) in text.utf8.prefix(length).enumerated() {
                header[offset + index] = byte
            }
        }
        func octal(_ number: Int, _ digits: Int) -> String {
            let text = String(max(0, number), radix: 8)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        // POSIX.1-1988, "ustar": name, mode, uid, gid, size, mtime, checksum, type, magic.
        put(name, at: 0, 100)
        put(octal(0o600, 7), at: 100, 7)
        put(octal(0, 7), at: 108, 7)
        put(octal(0, 7), at: 116, 7)
        put(octal(content.count, 11), at: 124, 11)
        put(octal(time, 11), at: 136, 11)
        put("        ", at: 148, 8)
        put("0", at: 156, 1)
        put("ustar", at: 257, 5)
        put("00", at: 263, 2)
        let sum = header.reduce(0) { $0 + Int($1) }
        put(octal(sum, 6), at: 148, 6)
        header[154] = 0
        blocks += header + content
        let rest = content.count % Self.blockBytes
        if rest > 0 { blocks += [UInt8](repeating: 0, count: Self.blockBytes - rest) }
    }

    /// The whole archive.
    var bytes: [UInt8] { blocks + [UInt8](repeating: 0, count: 2 * Self.blockBytes) }
}
