import AccessoryLinks
import ControlAPI
import Glibc
import NIOCore

/// Why relayd could not be asked, or its refusal.
enum ControlClientError: Error, Equatable, CustomStringConvertible {
    /// Nobody answers at any of the places.
    case notRunning([Finding])
    case timedOut(String)
    /// More clients wait for relayd than the kernel queues, and none was accepted in time.
    case crowded(String)
    /// The connection was accepted and closed without an answer: most likely by a relayd that is
    /// stopping, fails to start, or has turned away too many clients at once.
    case hungUp(String)
    /// The connection broke in the middle of an answer: most likely relayd was killed.
    case brokenOff(String)
    /// Something answers, but it is not relayd.
    case notRelayd(String, String)
    /// relayd refused; `code` is its word for programs.
    case refused(
        String, path: String, status: Int, server: String, code: APIError.Code? = nil,
        message: String)
    /// relayctl does not understand relayd's answer.
    case notUnderstood(String, server: String, problem: String)

    /// What was found at one place.
    struct Finding: Sendable, Equatable {
        let path: String
        let problem: Problem
    }

    enum Problem: Sendable, Equatable {
        case absent
        /// A socket file that nobody listens on.
        case abandoned
        /// A file or directory.
        case notSocket
        /// This user may not connect; what to do about it.
        case notPermitted(remedy: String)
        case other(String)
    }

    init(_ failure: ControlExchange.Failure, at path: String) {
        self =
            switch failure {
            case .timedOut: .timedOut(path)
            case .notHTTP: .notRelayd(path, "its answer is not HTTP")
            case .closedEarly: .hungUp(path)
            case .tooLarge:
                .notRelayd(path, "it sent more than \(ControlExchange.maximumBodyBytes) bytes")
            }
    }

    /// The state of relayd in a few words.
    var inShort: String {
        switch self {
        case .notRunning: isMatterOfPermission ? "not open to you" : "not running"
        case .timedOut: "does not answer"
        case .crowded, .hungUp: "refused the request"
        case .brokenOff: "broke off its answer"
        case .notRelayd(let path, _): "another program answers on \(path)"
        case .refused(_, _, _, let server, _, _), .notUnderstood(_, let server, _):
            "\(SafeText.clean(server)), whose answer is not understood"
        }
    }

    var description: String {
        switch self {
        case .notRunning(let findings):
            Self.notRunning(findings)
        case .timedOut(let path):
            """
            relayd accepted the connection on \(path) but did not answer in time; it may be \
            stopping or stuck, or all of its connections (control.connections) are taken: look at \
            its log (journalctl -u relayd) and at who is connected (ss -xp), or try again
            """
        case .crowded(let path):
            """
            relayd cannot be reached on \(path): more clients wait for it than the system holds, \
            and none was served in time; look at who connects (ss -xp), or try again
            """
        case .hungUp(let path):
            """
            the program that answers on \(path) closed the connection without an answer; a relayd does \
            so while it starts or stops, and when too many clients come at once: try again, or look at \
            its log (journalctl -u relayd) and at who connects (ss -xp)
            """
        case .brokenOff(let path):
            """
            relayd on \(path) closed the connection in the middle of its answer, so what was shown is \
            not all; it was probably stopped: look at its log (journalctl -u relayd), or try again
            """
        case .notRelayd(let path, let found):
            """
            the program that answers on \(path) is not relayd: \(found); check the path given \
            with --socket or \(ControlSocket.environmentVariable)
            """
        // A relayd of the same version knows every request, so its own words say everything.
        case .refused(_, _, _, Self.sameVersion, _, let message):
            message
        case .refused(let path, let route, let status, let server, _, let message):
            """
            \(SafeText.clean(server)) on \(path) answered \(route) with \(status): \(message)\
            \(Self.versions(server))
            """
        case .notUnderstood(let path, let server, let problem):
            """
            the answer of \(SafeText.clean(server)) on \(path) is not understood: \(problem)\
            \(Self.versions(server))
            """
        }
    }

    private static let sameVersion = "relayd/\(Version.current)"

    private static func versions(_ server: String) -> String {
        guard server != sameVersion else { return "" }
        return "; this is relayctl \(Version.current): use the one that came with that relayd"
    }

    /// The exit status of relayctl.
    var exitStatus: ExitStatus {
        switch self {
        case .notRunning, .timedOut, .crowded, .hungUp, .brokenOff, .notRelayd, .notUnderstood:
            .notRunning
        case .refused: .refused
        }
    }

    /// Whether another user could ask.
    var isMatterOfPermission: Bool {
        guard case .notRunning(let findings) = self else { return false }
        return findings.contains { finding in
            if case .notPermitted = finding.problem { true } else { false }
        }
    }

    private static func notRunning(_ findings: [Finding]) -> String {
        // It is unknown whether a relayd runs.
        if findings.count == 1, let only = findings.first, only.problem == .notSocket {
            return """
                \(only.path) is not a relayd socket but a file or directory
                → give the path of relayd's socket, such as \
                \(ControlSocket.systemDirectory)/\(ControlSocket.fileName), with --socket PATH or \
                \(ControlSocket.environmentVariable), or leave it out
                """
        }
        var remedy = """
            start it (relayd, or: sudo systemctl start relayd), or say where its socket is with \
            --socket PATH or \(ControlSocket.environmentVariable)
            """
        for finding in findings {
            if case .notPermitted(let better) = finding.problem { remedy = better }
        }
        let isPermitted = !findings.contains { finding in
            if case .notPermitted = finding.problem { true } else { false }
        }
        let headline = isPermitted ? "relayd is not running" : "you may not use this relayd"
        let places = findings.map { "  \($0.path)  \($0.problem.text)" }.joined(separator: "\n")
        return "\(headline); looked at\n\(places)\n→ \(remedy)"
    }
}

extension ControlClientError.Problem {
    var text: String {
        switch self {
        case .absent: "does not exist"
        case .abandoned: "nothing answers (left behind by a relayd that was killed)"
        case .notSocket: "is not a socket; expected relayd's, such as /run/relayd/relayd.sock"
        case .notPermitted: "permission denied"
        case .other(let problem): problem
        }
    }
}

extension ControlClientError.Finding {
    init(path: String, error: any Error) {
        self.path = path
        problem =
            switch error {
            case let error as IOError:
                switch error.errnoCode {
                case ENOENT, ENOTDIR: .absent
                case ECONNREFUSED: Self.isSocket(path) ? .abandoned : .notSocket
                case EACCES, EPERM: .notPermitted(remedy: SocketPermissions(path: path).remedy)
                case let code: .other(String(cString: strerror(code)))
                }
            default: .other("\(error)")
            }
    }

    private static func isSocket(_ path: String) -> Bool {
        var info = stat()
        return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFSOCK
    }
}

/// Who may use a socket, and how to get access.
private struct SocketPermissions {
    let path: String

    var remedy: String {
        var info = stat()
        guard stat(path, &info) == 0 else {
            return "a directory above \(path) is closed to you: run relayctl with sudo"
        }
        let group = DeviceNode.groupName(info.st_gid)
        let mode = String(info.st_mode & 0o777, radix: 8)
        let owner = "it belongs to user id \(info.st_uid), group \(group), mode \(mode)"
        guard info.st_mode & 0o020 != 0, info.st_gid != 0 else {
            return "\(owner): run relayctl with sudo, or configure a group for the control socket"
        }
        return """
            \(owner): join the group (sudo usermod -aG \(group) $USER, then log in again, or: \
            newgrp \(group)), or run relayctl with sudo
            """
    }
}
