import ControlAPI
import Glibc

// The token that relayd generates for its dashboard, kept in a file across restarts, so that open pages and
// a configured Prometheus keep working. Used by `DashboardToken`.

/// The file with the token that relayd has generated.
package struct TokenFile: Sendable {
    /// `dashboard-token` in the state directory.
    package let path: String
    private let directory: String

    private static let name = "dashboard-token"
    /// A token and its line end.
    private static let maximumBytes = 4096

    /// - Parameter directory: where the file is; created if missing.
    package init(in directory: String) {
        self.directory = directory
        path = directory + "/" + Self.name
    }

    /// The state directory: that of systemd's StateDirectory=, or the user's (XDG Base Directory
    /// Specification); nil if there is neither.
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

    /// The token in the file, or a new one that is stored there. Two relayds that start at once get the
    /// same token.
    ///
    /// - Throws: `DashboardToken.Failure` if the file cannot be used, or may belong to somebody
    ///   else.
    package func token() throws(DashboardToken.Failure) -> DashboardToken {
        if let token = try read() { return token }
        try makeDirectory()
        try make(DashboardToken())
        guard let token = try read() else { throw failure("it was removed again") }
        return token
    }

    /// nil if there is no file.
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

    /// Creates the file atomically, and never replaces an existing one: it is written under another
    /// name first.
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
        // At most three directories, those of ~/.local/state/relayd: a missing home directory is not
        // created.
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
