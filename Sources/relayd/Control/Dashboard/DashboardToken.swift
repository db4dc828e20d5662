// The token of the dashboard: newly generated, or read from a file. `RequestGate` checks it; `TokenFile` stores
// one.

import ControlAPI
import Glibc
import Logging
import SDLProtocol

/// The token a request over TCP has to carry: from relayd's own file or the one named in the
/// configuration, or generated for this start and stored nowhere. Shown only over the Unix socket and on
/// the terminal that relayd was started on.
package struct DashboardToken: Sendable {
    package let text: String
    /// Whether the token changes at the next start.
    package let isNewAtEachStart: Bool

    /// Why a file contains no token, written for people.
    package struct Failure: Error, CustomStringConvertible, Equatable {
        package let description: String
    }

    /// Characters of a token: at least 128 bits in hexadecimal, so that attempts need not be counted.
    private static let lengths = 32...256

    private static let kind = ConfigFile.Kind(
        maximumBytes: 4096, format: "a text file", noun: "token", substitute: "token of each start")

    /// A file named by the user must be usable. If relayd's own file is not, a token is generated for this
    /// start.
    ///
    /// - Parameter stateDirectory: Where relayd's own file is kept; nil if there is no such place.
    static func wanted(
        by configuration: Config.Dashboard, stateDirectory: String?, _ logger: Logger
    ) throws(Failure) -> DashboardToken {
        guard configuration.tokenFile == Config.Dashboard.ownTokenFile else {
            return try DashboardToken(file: configuration.tokenFile)
        }
        guard let stateDirectory else {
            logger.warning(
                """
                the dashboard's token is for this start only: HOME, XDG_STATE_HOME and STATE_DIRECTORY name \
                no directory to keep one in; set one of them, or name a file with dashboard.token_file, and \
                restart relayd
                """)
            return DashboardToken()
        }
        do throws(Failure) {
            return try TokenFile(in: stateDirectory).token()
        } catch {
            logger.warning(
                """
                the dashboard's token is for this start only: \(error); correct that, or name a \
                file with dashboard.token_file, and restart relayd
                """)
            return DashboardToken()
        }
    }

    /// The token in the file that `dashboard.token_file` names, or a new one if it names none.
    package init(file path: String) throws(Failure) {
        if path.isEmpty { self.init() } else { try self.init(inFileAt: path) }
    }

    private init(inFileAt path: String) throws(Failure) {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & 0o007 != 0 {
            throw Failure(
                description: """
                    \(path): other users of this machine may use it; chmod o= \(path)
                    """)
        }
        let bytes: [UInt8]
        do throws(ConfigFile.Failure) {
            bytes = try ConfigFile.read(path, as: Self.kind)
        } catch {
            throw Failure(description: "\(path): \(error.text)")
        }
        guard let token = DashboardToken(line: bytes[...]) else {
            throw Failure(
                description: """
                    \(path): no token; one line of \(Self.lengths.lowerBound) to \
                    \(Self.lengths.upperBound) letters, digits and -._~+/ was expected, as \
                    openssl rand -hex 32 prints it
                    """)
        }
        self = token
    }

    /// The token in a file's content; nil if that is not a token.
    init?(line bytes: ArraySlice<UInt8>) {
        let token = bytes.prefix((bytes.lastIndex { !Self.endsLine($0) } ?? -1) + 1)
        guard Self.lengths.contains(token.count), token.allSatisfy(Self.isAllowed) else {
            return nil
        }
        text = String(decoding: token, as: UTF8.self)
        isNewAtEachStart = false
    }

    /// Generates 128 bits in hexadecimal: they cannot be guessed, and the address still fits a terminal
    /// of 80 columns.
    package init() {
        isNewAtEachStart = true
        var generator = SystemRandomNumberGenerator()
        text = (0..<2).map { _ in
            UInt64.random(in: .min ... .max, using: &generator).hexDigits
        }.joined()
    }

    private static func endsLine(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }

    /// Whether a bearer token may contain the byte (RFC 6750, "2.1"), except as padding.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~+/".utf8.contains(byte)
        }
    }

    /// Whether an `Authorization` header carries this token. Takes the same time for all tokens of
    /// the right length, so that it cannot be guessed digit by digit.
    package func isBrought(by authorization: String?) -> Bool {
        // The scheme's case does not matter (RFC 9110, "11.1").
        guard let authorization, authorization.prefix(7).lowercased() == "bearer " else {
            return false
        }
        let brought = Array(authorization.utf8.dropFirst(7))
        let own = Array(text.utf8)
        guard brought.count == own.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(brought, own) { difference |= one ^ other }
        return difference == 0
    }
}
