import Glibc

/// The place of the control socket: relayd uses it to choose a path, and the tool to find it.
///
/// Both try the same places in the same order, so that a tool started by the same user finds the
/// daemon without being told:
///
/// 1. what was given: `--control-socket` or the configuration (relayd), `--socket` (relayctl)
/// 2. `$RELAYD_SOCKET`
/// 3. `relayd.sock` in the first directory of `$RUNTIME_DIRECTORY` (relayd only: systemd sets it)
/// 4. `/run/relayd/relayd.sock`, for root and for whoever may write to that directory
/// 5. `$XDG_RUNTIME_DIR/relayd/relayd.sock`
/// 6. `/tmp/relayd-UID/relayd.sock`; the directory must be the user's own and closed to others
package struct ControlSocket: Sendable, Hashable {
    package let path: String
    package let place: Place

    /// The rule of the list above that chose the path.
    package enum Place: Sendable, Hashable {
        case given, environment, runtimeDirectory, system, user, temporary
    }

    /// The directory shared by everything that is installed for the whole machine.
    package static let systemDirectory = "/run/relayd"
    package static let fileName = "relayd.sock"
    package static let environmentVariable = "RELAYD_SOCKET"

    /// Longest path in bytes: `sun_path` of `sockaddr_un` holds 108 with its closing zero.
    package static let maximumPathBytes = 107

    /// Directory part of `path`; "." for a bare file name.
    package var directory: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private init(_ path: String, _ place: Place) throws(ControlSocketError) {
        guard !path.isEmpty else { throw .emptyPath(place) }
        guard path.utf8.count <= Self.maximumPathBytes else { throw .pathTooLong(path) }
        self.path = path
        self.place = place
    }

    /// The one path relayd serves.
    package static func forDaemon(
        given: String? = nil, in surroundings: Surroundings = .current
    ) throws(ControlSocketError) -> ControlSocket {
        if let given { return try ControlSocket(given, .given) }
        if let path = surroundings.environment(environmentVariable) {
            return try ControlSocket(path, .environment)
        }
        if let list = surroundings.environment("RUNTIME_DIRECTORY"),
            let first = list.split(separator: ":").first
        {
            return try ControlSocket("\(first)/\(fileName)", .runtimeDirectory)
        }
        if surroundings.userID == 0 || surroundings.isWritableDirectory(systemDirectory) {
            return try ControlSocket("\(systemDirectory)/\(fileName)", .system)
        }
        if let runtime = surroundings.environment("XDG_RUNTIME_DIR") {
            return try ControlSocket("\(runtime)/relayd/\(fileName)", .user)
        }
        return try ControlSocket("\(temporaryDirectory(surroundings))/\(fileName)", .temporary)
    }

    /// The paths relayctl tries, in order: one if it was told which, otherwise all the usual ones.
    package static func forTool(
        given: String? = nil, in surroundings: Surroundings = .current
    ) throws(ControlSocketError) -> [ControlSocket] {
        if let given { return [try ControlSocket(given, .given)] }
        if let path = surroundings.environment(environmentVariable) {
            return [try ControlSocket(path, .environment)]
        }
        var places = [try ControlSocket("\(systemDirectory)/\(fileName)", .system)]
        if let runtime = surroundings.environment("XDG_RUNTIME_DIR") {
            places.append(try ControlSocket("\(runtime)/relayd/\(fileName)", .user))
        }
        places.append(
            try ControlSocket("\(temporaryDirectory(surroundings))/\(fileName)", .temporary))
        return places
    }

    private static func temporaryDirectory(_ surroundings: Surroundings) -> String {
        "/tmp/relayd-\(surroundings.userID)"
    }

    /// Checks, in a place that anybody may write to, that nobody else created the directory first to
    /// impersonate relayd or listen in. Passes for every other place, and when the directory does not
    /// exist yet.
    package func checkDirectoryIsOurs(userID: UInt32 = geteuid()) throws(ControlSocketError) {
        guard place == .temporary else { return }
        var info = stat()
        guard lstat(directory, &info) == 0 else { return }
        guard info.st_mode & S_IFMT == S_IFDIR else {
            throw .unsafeDirectory(directory, "it is not a directory")
        }
        guard info.st_uid == userID else {
            throw .unsafeDirectory(directory, "it belongs to user id \(info.st_uid), not \(userID)")
        }
        guard info.st_mode & 0o077 == 0 else {
            let mode = String(info.st_mode & 0o777, radix: 8)
            throw .unsafeDirectory(directory, "its mode is \(mode), so others can get in; need 700")
        }
    }
}

/// The inputs for the choice of a path; tests use their own.
package struct Surroundings: Sendable {
    /// Value of an environment variable; nil when unset or empty.
    package let environment: @Sendable (String) -> String?
    /// Effective user id.
    package let userID: UInt32
    /// Whether a directory exists and this process may create files in it.
    package let isWritableDirectory: @Sendable (String) -> Bool

    package init(
        userID: UInt32, environment: @escaping @Sendable (String) -> String?,
        isWritableDirectory: @escaping @Sendable (String) -> Bool
    ) {
        self.userID = userID
        self.environment = environment
        self.isWritableDirectory = isWritableDirectory
    }

    /// This process.
    package static var current: Surroundings {
        Surroundings(userID: geteuid()) { name in
            guard let value = getenv(name), value.pointee != 0 else { return nil }
            return String(cString: value)
        } isWritableDirectory: { path in
            access(path + "/.", W_OK | X_OK) == 0
        }
    }
}

/// Why a path cannot be the control socket.
package enum ControlSocketError: Error, Equatable, CustomStringConvertible {
    case emptyPath(ControlSocket.Place)
    case pathTooLong(String)
    /// The directory, and the problem with it.
    case unsafeDirectory(String, String)

    package var description: String {
        switch self {
        case .emptyPath:
            "the path of the control socket is empty; give one like /run/relayd/relayd.sock"
        case .pathTooLong(let path):
            """
            the path of the control socket has \(path.utf8.count) bytes, the system allows \
            \(ControlSocket.maximumPathBytes): \(path); choose a shorter one with --control-socket \
            (relayd), --socket (relayctl) or \(ControlSocket.environmentVariable)
            """
        case .unsafeDirectory(let directory, let problem):
            """
            \(directory) cannot be trusted with the control socket: \(problem); remove it, or \
            choose another place with \(ControlSocket.environmentVariable)
            """
        }
    }
}
