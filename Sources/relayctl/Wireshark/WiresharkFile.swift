import CFiles
import Glibc

/// A file that relayctl installs in one of Wireshark's folders, and removes again.
struct WiresharkFile: Sendable {
    enum Kind: String, Sendable, Encodable {
        /// The Lua file that decodes SDL.
        case dissector
        /// The script that lists running relayds among Wireshark's interfaces.
        case interfaces
    }

    enum State: String, Sendable, Encodable {
        case installed
        /// From another version of relayctl, or changed by hand.
        case differs
        case absent
        /// A file of that name that relayctl has not written; it is left alone.
        case foreign
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let kind: Kind
    let path: String
    let content: [UInt8]
    /// Text that is in each version of this file and in no other file.
    let mark: String
    let mode: mode_t

    /// A limit far above the size of any file that is written.
    private static let maximumBytes = 4 << 20

    /// - Parameter program: The absolute path of relayctl.
    static func all(in folders: WiresharkFolders, program: String) -> [WiresharkFile] {
        let script = Self.script(program)
        let dissector = relay_wireshark_dissector()
        return [
            WiresharkFile(
                kind: .dissector, path: folders.plugins + "/sdl.lua",
                content: Array(
                    UnsafeRawBufferPointer(start: dissector.bytes, count: dissector.count)),
                mark: "-- SmartDeviceLink for Wireshark", mode: 0o644)
        ]
            + folders.extcap.map {
                WiresharkFile(
                    kind: .interfaces, path: $0 + "/relayd", content: Array(script.utf8),
                    mark: scriptMark, mode: 0o755)
            }
    }

    private static let scriptMark = "# Written by relayctl wireshark"

    /// Wireshark runs each program in its folder at every start, even if relayctl has been removed.
    private static func script(_ program: String) -> String {
        let quoted = "'" + program.replacing("'", with: "'\\''") + "'"
        return """
            #!/bin/sh
            \(scriptMark) --install; relayctl wireshark --uninstall takes it away.
            # Lists running relayds among Wireshark's interfaces, and captures from them.
            [ -x \(quoted) ] || exit 0
            exec \(quoted) extcap "$@"

            """
    }

    // MARK: Reading

    /// - Throws: `Problem` when the file cannot be read.
    func state() throws(Problem) -> State {
        guard let found = try read() else { return .absent }
        if found == content { return .installed }
        return String(decoding: found.prefix(1000), as: UTF8.self).contains(mark)
            ? .differs : .foreign
    }

    /// Does not block on a pipe that somebody put there.
    private func read() throws(Problem) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw problem("cannot be read")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count <= Self.maximumBytes {
            var count = 0
            let piece = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, filled in
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                filled = max(0, count)
            }
            guard count >= 0 else { throw problem("cannot be read") }
            if piece.isEmpty { return bytes }
            bytes += piece
        }
        return bytes
    }

    // MARK: Changing

    /// Writes the file, replacing an existing one atomically.
    ///
    /// - Throws: `Problem` when a foreign file is there, or nothing can be written.
    func install() throws(Problem) {
        let state = try state()
        guard state != .foreign else {
            throw Problem(description: "\(path) is not relayctl's; move it away first")
        }
        if state == .installed, access(path, mode & 0o111 == 0 ? R_OK : X_OK) == 0 { return }
        try makeFolders()
        var name = Array("\(path).XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw problem("cannot be written") }
        defer { close(descriptor) }
        var rest = content[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { break }
            rest = rest.dropFirst(max(0, count))
        }
        guard rest.isEmpty, fchmod(descriptor, mode) == 0, rename(name, path) == 0 else {
            let problem = problem("cannot be written")
            unlink(name)
            throw problem
        }
    }

    /// - Returns: False when there was nothing to remove.
    /// - Throws: `Problem` when a foreign file is there, or it cannot be removed.
    func uninstall() throws(Problem) -> Bool {
        switch try state() {
        case .absent: return false
        case .foreign: throw Problem(description: "\(path) is not relayctl's, and stays")
        case .installed, .differs: break
        }
        guard unlink(path) == 0 else { throw problem("cannot be removed") }
        return true
    }

    private func makeFolders() throws(Problem) {
        let parts = path.split(separator: "/").dropLast()
        for count in 1...max(1, parts.count) {
            let folder = "/" + parts.prefix(count).joined(separator: "/")
            if mkdir(folder, 0o755) != 0, errno != EEXIST {
                throw Problem(
                    description: "\(folder) cannot be made: \(String(cString: strerror(errno)))")
            }
        }
    }

    private func problem(_ what: String) -> Problem {
        Problem(description: "\(path) \(what): \(String(cString: strerror(errno)))")
    }
}
