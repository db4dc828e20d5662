import Glibc
import Media
import NIOCore

/// The folder for extracted files. Each file is written without a name and gets one when it is complete;
/// existing files are never overwritten.
struct ExtractionFolder: ~Copyable {
    let path: String
    private let descriptor: Int32
    /// How often each name was wanted. Names that differ only in case count as one, because on other
    /// systems they are the same.
    private var numbers: [String: Int] = [:]

    /// Number of names tried in a folder where many are taken.
    private static let maximumNumber = 100_000

    /// Creates the folder, accessible only to its owner, or uses an existing one.
    ///
    /// - Throws: `TraceFailure`.
    init(_ path: String) throws(TraceFailure) {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw TraceFailure(
                "\(path) cannot be made: \(String(cString: strerror(errno))); give -o a folder that "
                    + "is there, or a new name in one")
        }
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw TraceFailure(
                "\(path) cannot be used: \(String(cString: strerror(errno))); -o takes a folder")
        }
        (self.path, self.descriptor) = (path, descriptor)
    }

    deinit { close(descriptor) }

    /// - Throws: `TraceFailure` where nothing can be written.
    func make() throws(TraceFailure) -> ExtractedFile {
        let unnamed = openat(descriptor, ".", Self.unnamed, 0o600)
        if unnamed >= 0 { return ExtractedFile(unnamed, temporary: nil, path) }
        // For a file system that does not support files without a name.
        let temporary = ".relayctl-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let named = openat(
            descriptor, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard named >= 0 else {
            throw TraceFailure("\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
        return ExtractedFile(named, temporary: temporary, path)
    }

    /// `O_TMPFILE`, which Glibc's module leaves out (open(2)).
    private static let unnamed = O_RDWR | O_DIRECTORY | 0o20_000_000 | O_CLOEXEC

    /// Gives a file its name, or the same name with a number where that is taken.
    ///
    /// - Parameter wanted: A safe name.
    /// - Returns: The name.
    mutating func keep(_ file: ExtractedFile, as wanted: String) throws(TraceFailure) -> String {
        let key = wanted.lowercased()
        while true {
            let number = numbers[key, default: 0] + 1
            numbers[key] = number
            guard number <= Self.maximumNumber else {
                throw TraceFailure(
                    "\(path) has no free name like \(wanted): give -o another folder")
            }
            let name = number == 1 ? wanted : MediaName.numbered(wanted, number)
            // Skips a numbered name that another file already has or wanted.
            guard number == 1 || numbers[name.lowercased()] == nil else { continue }
            if number > 1 { numbers[name.lowercased()] = 1 }
            if link(file, name) { return name }
            let code = errno
            guard code == EEXIST else {
                throw TraceFailure(
                    "\(path)/\(name) cannot be written: \(String(cString: strerror(code)))")
            }
        }
    }

    private func link(_ file: ExtractedFile, _ name: String) -> Bool {
        guard let temporary = file.temporary else {
            return linkat(
                AT_FDCWD, "/proc/self/fd/\(file.descriptor)", descriptor, name, AT_SYMLINK_FOLLOW)
                == 0
        }
        if linkat(descriptor, temporary, descriptor, name, 0) == 0 {
            unlinkat(descriptor, temporary, 0)
            return true
        }
        guard errno == EPERM || errno == EOPNOTSUPP else { return false }
        // For a file system without hard links.
        var status = stat()
        guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) != 0 else {
            errno = EEXIST
            return false
        }
        return renameat(descriptor, temporary, descriptor, name) == 0
    }

    /// Removes a file that has no name yet.
    func drop(_ file: ExtractedFile) {
        if let temporary = file.temporary { unlinkat(descriptor, temporary, 0) }
    }
}

/// An open file, which may have no name.
final class ExtractedFile {
    fileprivate let descriptor: Int32
    fileprivate let temporary: String?
    private let folder: String

    fileprivate init(_ descriptor: Int32, temporary: String?, _ folder: String) {
        (self.descriptor, self.temporary, self.folder) = (descriptor, temporary, folder)
    }

    deinit { close(descriptor) }

    /// - Throws: `TraceFailure`.
    func write(_ bytes: ByteBuffer, at place: Int) throws(TraceFailure) {
        var failure: Int32 = 0
        bytes.withUnsafeReadableBytes { bytes in
            var written = 0
            while written < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                let count = pwrite(
                    descriptor, rest.baseAddress, rest.count, off_t(place + written))
                if count > 0 {
                    written += count
                } else if count == 0 || errno != EINTR {
                    failure = count == 0 ? ENOSPC : errno
                    return
                }
            }
        }
        if failure != 0 {
            throw TraceFailure("\(folder) cannot be written: \(String(cString: strerror(failure)))")
        }
    }
}
