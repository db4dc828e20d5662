internal import CSystemd
internal import Glibc

/// The listening sockets that systemd passes at the start (sd_listen_fds(3)), distinguished by the
/// name in their unit (systemd.socket(5), "FileDescriptorName"). `Daemon` asks for them before it
/// opens any of its own.
package struct InheritedSockets: Sendable, Equatable {
    /// Descriptors on which apps connect; empty = relayd opens the addresses in `listen`.
    package var apps: [CInt] = []
    /// Descriptor of the control socket; nil = relayd creates one itself.
    package var control: CInt?

    package static let appsName = "apps"
    package static let controlName = "control"

    package init() {}

    /// Sorts the passed descriptors.
    ///
    /// - Parameters:
    ///   - named: descriptors and their names, in the order systemd passed them.
    ///   - isListening: whether a descriptor is a listening stream socket of this family.
    package init(
        _ named: [(descriptor: CInt, name: String)],
        isListening: (CInt, Family) -> Bool = Self.isListening
    ) throws(InheritedSocketError) {
        for (descriptor, name) in named {
            switch name {
            case Self.appsName:
                guard isListening(descriptor, .tcp) else { throw .notTCP }
                apps.append(descriptor)
            case Self.controlName:
                guard isListening(descriptor, .unix) else { throw .notUnix }
                guard control == nil else { throw .twoControlSockets }
                control = descriptor
            default:
                throw .unknownName(name)
            }
        }
    }

    /// The sockets passed to this process, if any; call this only once.
    package static func fromSystemd() throws(InheritedSocketError) -> InheritedSockets {
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(0, &list)
        guard count > 0, let list else { return InheritedSockets() }
        defer {
            for index in 0..<Int(count) { free(list[index]) }
            free(list)
        }
        var named: [(descriptor: CInt, name: String)] = []
        for index in 0..<Int(count) {
            let name = list[index].map { String(cString: $0) } ?? ""
            // SD_LISTEN_FDS_START: after standard input, output and error.
            named.append((3 + CInt(index), name))
        }
        return try InheritedSockets(named)
    }

    package enum Family: Sendable {
        case tcp, unix
    }

    package static func isListening(_ descriptor: CInt, _ family: Family) -> Bool {
        let stream = CInt(SOCK_STREAM.rawValue)
        return switch family {
        case .tcp:
            sd_is_socket(descriptor, AF_INET, stream, 1) > 0
                || sd_is_socket(descriptor, AF_INET6, stream, 1) > 0
        case .unix: sd_is_socket(descriptor, AF_UNIX, stream, 1) > 0
        }
    }
}

/// Why sockets from systemd cannot be used; the socket unit has to be changed.
package enum InheritedSocketError: Error, Equatable, CustomStringConvertible {
    case unknownName(String)
    case notTCP
    case notUnix
    case twoControlSockets

    package var description: String {
        switch self {
        case .unknownName(let name):
            """
            systemd passed a socket called "\(name)"; expected \(InheritedSockets.appsName) or \
            \(InheritedSockets.controlName): write FileDescriptorName=apps or =control in its \
            .socket unit (systemctl list-sockets shows which)
            """
        case .notTCP:
            """
            the socket "\(InheritedSockets.appsName)" from systemd is not a listening TCP socket; \
            expected ListenStream=ADDRESS:PORT and Accept=no in its .socket unit
            """
        case .notUnix:
            """
            the socket "\(InheritedSockets.controlName)" from systemd is not a listening Unix socket; \
            expected ListenStream=/PATH and Accept=no in its .socket unit
            """
        case .twoControlSockets:
            """
            systemd passed two sockets called "\(InheritedSockets.controlName)"; expected one: \
            take one ListenStream= out of its .socket unit
            """
        }
    }
}
