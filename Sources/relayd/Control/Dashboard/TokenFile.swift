import ControlAPI
import Glibc

// The token that relayd makes for its dashboard, kept in a file from start to start, so that a page that is
// open and a Prometheus that was told go on. `DashboardToken` asks for it.

/// A file with a token, of relayd's own making.
package struct TokenFile: Sendable {
    /// `dashboard-token` in the directory for what outlives relayd.
    package let path: String
    private let directory: String

    private static let name = "dashboard-token"
    /// A token and the end of its line.
    private static let maximumBytes = 4096

    /// - Parameter directory: where it lies; made if it is not there.
    package init(in directory: String) {
        self.directory = directory
        path = directory + "/" + Self.name
    }

    /// The directory for what outlives relayd: that of systemd's StateDirectory=, or the user's
    /// (XDG Base Directory Specification); nil where there is neither.
    package static func directory(in environment: [String: String]) -> String? {
        func value(_ name: String) -> String? {
            environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        if let list = value("STATE_DIRECTORY") {
            return list.split(separator: ":").first.map { String($0) }
        }
        return value("XDG_STATE_HOME").map { $0 + "/relayd" }
            ?? value("HOME").map { $0 + "/.local/state/relayd" }
    }

    /// The token in the file, or a new one that is in it from now on. Of two relayds that start at once
    /// both get the same.
    ///
    /// - Throws: `DashboardToken.Failure` when the file cannot be used, or may be somebody else's.
    package func token() throws(DashboardToken.Failure) -> DashboardToken {
        if let token = try read() { return token }
        try makeDirectory()
        try make(DashboardToken())
        guard let token = try read() else { throw failure("it was removed again") }
        return token
    }

    /// nil when there is no file.
    private func read() throws(DashboardToken.Failure) -> DashboardToken? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            if errno == ELOOP { throw failure("it is a symbolic link") }
            throw failure(system: "it cannot be read")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw failure("it is not a regular file")
        }
        guard status.st_uid == geteuid() else {
            throw failure("it belongs to user id \(status.st_uid)")
        }
        guard status.st_mode & 0o027 == 0 else {
            throw failure(
                "its mode lets others use it (\(String(status.st_mode & 0o777, radix: 8)))")
        }
        var bytes = [UInt8](repeating: 0, count: Self.maximumBytes)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw failure(system: "it cannot be read") }
        guard let token = DashboardToken(line: bytes.prefix(count)) else {
            throw failure("it holds no token")
        }
        return token
    }

    /// Whole or not at all, and never in place of one that is there: written under another name first.
    private func make(_ token: DashboardToken) throws(DashboardToken.Failure) {
        var draft = Array("\(path).XXXXXX".utf8CString)
        let descriptor = mkstemp(&draft)
        guard descriptor >= 0 else { throw failure(system: "it cannot be made") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        defer { unlink(draft) }
        let bytes = Array((token.text + "\n").utf8)
        let count = write(descriptor, bytes, bytes.count)
        let problem = count == bytes.count ? nil : failure(system: "it cannot be written")
        close(descriptor)
        if let problem { throw problem }
        guard link(draft, path) == 0 || errno == EEXIST else {
            throw failure(system: "it cannot be made")
        }
    }

    private func makeDirectory() throws(DashboardToken.Failure) {
        // At most three directories, those of ~/.local/state/relayd: a home that is missing is not made.
        let parts = directory.split(separator: "/")
        for count in parts.indices.suffix(3).map({ $0 + 1 }) {
            let made = "/" + parts.prefix(count).joined(separator: "/")
            guard mkdir(made, 0o700) == 0 || errno == EEXIST || errno == EROFS else {
                throw failure(system: "\(made) cannot be made")
            }
        }
        var status = stat()
        guard stat(directory, &status) == 0 else {
            throw failure(system: "\(directory) cannot be used")
        }
        guard status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw failure("others may write to \(directory)")
        }
    }

    private func failure(system what: String) -> DashboardToken.Failure {
        failure("\(what): \(String(cString: strerror(errno)))")
    }

    private func failure(_ what: String) -> DashboardToken.Failure {
        DashboardToken.Failure(description: "\(path): \(what)")
    }
}
