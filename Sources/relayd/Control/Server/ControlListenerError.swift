import Glibc

/// Why the control socket could not be created; relayd does not start without it.
package enum ControlListenerError: Error, Equatable, CustomStringConvertible {
    /// A process answers on the path; with its process id, if the kernel knows it.
    case alreadyServed(path: String, pid: Int?)
    /// The path names a file that is not a socket.
    case notASocket(String)
    case unknownGroup(String)
    case groupNotPermitted(path: String, group: String, errno: Int32)
    case cannotCreateDirectory(String, errno: Int32)
    case cannotBind(path: String, errno: Int32)

    package var description: String {
        switch self {
        case .alreadyServed(let path, let pid):
            """
            another relayd\(pid.map { " (pid \($0))" } ?? "") is serving \(path); stop it first, \
            or give this one a socket of its own with --control-socket
            """
        case .notASocket(let path):
            """
            \(path) exists and is not a socket, so it is left alone; remove it, or choose another \
            path with --control-socket
            """
        case .unknownGroup(let name):
            """
            there is no group "\(name)" for the control socket; create it (sudo groupadd --system \
            \(name)) or configure one that exists (getent group lists them)
            """
        case .groupNotPermitted(let path, let group, let code):
            """
            cannot give \(path) to group "\(group)": \(text(code)); the user relayd runs as must \
            be a member of that group (sudo usermod -aG \(group) USER); as a service, set \
            SocketGroup=\(group) of relayd-control.socket instead
            """
        case .cannotCreateDirectory(let directory, let code):
            """
            cannot create the directory \(directory) for the control socket: \(text(code)); create \
            it, or choose another path with --control-socket
            """
        case .cannotBind(let path, let code):
            """
            cannot create the control socket \(path): \(text(code)); choose another path with \
            --control-socket
            """
        }
    }

    private func text(_ code: Int32) -> String {
        String(cString: strerror(code))
    }
}
