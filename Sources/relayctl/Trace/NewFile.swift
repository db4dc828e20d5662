import Glibc
import NIOCore
import SDLTraffic

/// A file that is created completely or not at all, and never replaces another: written so that only its
/// owner can read it, then given its name.
struct NewFile: ~Copyable {
    let path: String
    /// Temporary path. Nil when the file has no name at all, so that nothing is left however the process
    /// ends; some file systems do not support that.
    private let temporary: String?
    private let descriptor: Int32
    private var isKept = false

    /// - Throws: `TraceFailure` when the file exists, or cannot be created there.
    init(_ path: String) throws(TraceFailure) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        let name = path.dropFirst(folder.count)
        guard !name.isEmpty, name != "-" else {
            throw TraceFailure("\"\(path)\" is not a file name: -o takes the path of a new file")
        }
        guard !Self.isThere(path) else { throw Self.taken(path) }
        let unnamed = open(folder.isEmpty ? "." : folder, Self.unnamed, 0o600)
        guard unnamed < 0 else {
            (self.path, temporary, descriptor) = (path, nil, unnamed)
            return
        }
        let suffix = String(UInt32.random(in: .min ... .max), radix: 36)
        let temporary = folder + ".\(name.prefix(100)).\(suffix)"
        Draft.begin(temporary)
        let descriptor = open(
            temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            Draft.end()
            throw Self.unwritable(path, code)
        }
        (self.path, self.temporary, self.descriptor) = (path, temporary, descriptor)
    }

    /// `O_TMPFILE`, which Glibc's module leaves out (open(2)).
    private static let unnamed = O_WRONLY | O_DIRECTORY | 0o20_000_000 | O_CLOEXEC

    deinit {
        close(descriptor)
        if let temporary, !isKept { unlink(temporary) }
        if temporary != nil { Draft.end() }
    }

    func write(_ bytes: ByteBuffer) throws(TraceFailure) {
        var failure: Int32 = 0
        bytes.withUnsafeReadableBytes { bytes in
            var written = 0
            while written < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count > 0 {
                    written += count
                } else if errno != EINTR {
                    failure = errno
                    return
                }
            }
        }
        if failure != 0 { throw Self.unwritable(path, failure) }
    }

    /// Gives the file its name. Without this call nothing is left of it.
    mutating func keep() throws(TraceFailure) {
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw Self.unwritable(path, errno) }
        if name() == 0 {
            if let temporary { unlink(temporary) }
        } else if errno == EEXIST {
            throw Self.taken(path)
        } else {
            // For a file system without hard links.
            guard !Self.isThere(path) else { throw Self.taken(path) }
            guard let temporary, rename(temporary, path) == 0 else {
                throw Self.unwritable(path, errno)
            }
        }
        isKept = true
    }

    private func name() -> Int32 {
        guard let temporary else {
            return linkat(
                AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
        }
        return link(temporary, path)
    }

    /// Whether the path exists, including dangling links.
    private static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private static func taken(_ path: String) -> TraceFailure {
        TraceFailure(
            "\(path) already exists, and relayctl overwrites nothing: give -o another name")
    }

    private static func unwritable(_ path: String, _ code: Int32) -> TraceFailure {
        TraceFailure("\(path) cannot be written: \(String(cString: strerror(code)))")
    }
}
