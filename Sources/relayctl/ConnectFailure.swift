import Glibc
import NIOCore
import NIOPosix

/// Why a TCP connection could not be made: an NIO error in words. Used by `relayctl sample-app` and
/// `relayctl replay`.
struct ConnectFailure: CustomStringConvertible {
    let description: String

    init(_ error: any Error) {
        description =
            switch error {
            case let error as NIOConnectionError: Self.text(error)
            case let error as IOError: Self.text(code: error.errnoCode)
            case ChannelError.connectTimeout: "nobody answered in time"
            default: "\(error)"
            }
    }

    /// What to do about it.
    ///
    /// - Parameters:
    ///   - wasAsked: Whether relayd itself named the address.
    ///   - option: The command and the option that takes an address.
    static func remedy(wasAsked: Bool, option: String) -> String {
        wasAsked
            ? "relayd says that apps connect there; if it runs in a container or another network, "
                + "give the address that leads to it: relayctl \(option) HOST:PORT"
            : "relayctl status shows where apps connect to the relayd that runs here"
    }

    /// Describes the first address that was tried; without one, the name was not found.
    private static func text(_ error: NIOConnectionError) -> String {
        guard let first = error.connectionErrors.first else {
            return "there is no host \"\(SafeText.clean(error.host))\""
        }
        return ConnectFailure(first.error).description
    }

    private static func text(code: Int32) -> String {
        let words = String(cString: strerror(code))
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}
