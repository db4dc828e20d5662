public import NIOCore

/// What a peer speaks when it is not SDL: a common mistake, recognised from the first bytes it
/// sent. Used for apps on the port and for garbage on links.
public enum WrongProtocol: Hashable, Sendable, CaseIterable {
    case webSocket
    case http
    case tls
    case openXCJSON
    case openXCProtobuf
    case ssh
    /// Only a guess: two bytes fit.
    case telnet

    /// Recognises the protocol from the first bytes of a stream, nil if they look like nothing known.
    public init?(firstBytes: ByteBuffer) {
        let text = String(decoding: firstBytes.readableBytesView.prefix(512), as: UTF8.self)
        let bytes = Array(firstBytes.readableBytesView.prefix(8))
        if Self.httpMethods.contains(where: text.hasPrefix) || text.hasPrefix("HTTP/1.") {
            self = text.lowercased().contains("upgrade: websocket") ? .webSocket : .http
        } else if bytes.starts(with: [0x16, 0x03]) {
            self = .tls
        } else if text.hasPrefix("SSH-") {
            self = .ssh
        } else if bytes.count >= 2, bytes[0] == 0xFF, bytes[1] >= 0xF0 {
            // "Interpret as command", and a command (RFC 854).
            self = .telnet
        } else if Self.looksLikeJSON(firstBytes) {
            self = .openXCJSON
        } else if Self.looksLikeOpenXCProtobuf(bytes) {
            self = .openXCProtobuf
        } else {
            return nil
        }
    }

    /// What was recognised on the app port, and what to do about it.
    public var adviceOnAppPort: String { "\(findingOnAppPort): \(remedyOnAppPort)" }

    /// What was recognised on the app port.
    public var findingOnAppPort: String {
        switch self {
        case .webSocket: "speaks WebSocket, not SDL"
        case .http: "speaks HTTP, not SDL"
        case .tls: "speaks TLS, not SDL"
        case .openXCJSON, .openXCProtobuf: "speaks OpenXC, not SDL"
        case .ssh: "speaks SSH, not SDL"
        case .telnet: "may be a Telnet client"
        }
    }

    /// What the sender on the app port can do about it.
    public var remedyOnAppPort: String {
        switch self {
        case .webSocket:
            "SDL apps connect here by plain TCP. The JavaScript suite cannot be used with relayd in a "
                + "browser; run it under Node with TcpClientConfig"
        case .http:
            "this port is for apps; relayctl dashboard prints the address of the page for browsers"
        case .tls:
            "switch TLS off for this address in the app; SDL starts unencrypted and protects services "
                + "later"
        case .openXCJSON, .openXCProtobuf:
            "a vehicle interface belongs at the link to the head unit, not here"
        case .ssh: "this port is for apps"
        case .telnet: "this port speaks SDL"
        }
    }

    /// What was recognised on the link to the head unit, and what to do about it.
    public var adviceOnLink: String {
        switch self {
        case .webSocket, .http:
            "this is an HTTP server, not a head unit. Check host and port: "
                + "sdl_core listens for apps on 12345, its HMI's WebSocket is 8087"
        case .tls: "this is a TLS peer, not a head unit. Check host and port"
        case .openXCJSON, .openXCProtobuf:
            "this looks like an OpenXC vehicle interface, not an SDL head unit. "
                + "Check the head unit's address"
        case .ssh: "this is an SSH server, not a head unit. Check host and port"
        case .telnet: "this may be a Telnet server, not a head unit. Check host and port"
        }
    }

    private static let httpMethods = [
        "GET ", "POST ", "PUT ", "HEAD ", "OPTIONS ", "DELETE ", "PATCH ", "CONNECT ", "PRI * ",
    ]

    /// OpenXC JSON: an object, perhaps after white space or the NUL that ends the one before.
    private static func looksLikeJSON(_ bytes: ByteBuffer) -> Bool {
        let significant = bytes.readableBytesView.drop { $0 == 0 || $0 <= 0x20 }
        guard significant.first == UInt8(ascii: "{") else {
            // In mid-stream: a NUL between two objects gives it away.
            return bytes.readableBytesView.containsSequence([0x7D, 0x00, 0x7B])
        }
        return significant.dropFirst().first.map { $0 == UInt8(ascii: "\"") || $0 <= 0x20 } ?? true
    }

    /// OpenXC protobuf: length, then field 1 (type) with 1…6.
    private static func looksLikeOpenXCProtobuf(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 3, bytes[0] > 2, bytes[0] < 0x80 else { return false }
        return bytes[1] == 0x08 && (1...6).contains(bytes[2])
    }
}

extension ByteBufferView {
    /// True when `pattern` occurs.
    fileprivate func containsSequence(_ pattern: [UInt8]) -> Bool {
        guard count >= pattern.count else { return false }
        return indices.dropLast(pattern.count - 1).contains { self[$0...].starts(with: pattern) }
    }
}

extension ByteBuffer {
    /// The first bytes as log lines show them: `47 45 54 20 |GET |`.
    public func hexExcerpt(limit: Int = 64) -> String {
        let shown = readableBytesView.prefix(limit)
        let digits = shown.map(hex).joined(separator: " ")
        let text = String(
            decoding: shown.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: ".") },
            as: UTF8.self)
        return "\(digits) |\(text)|"
    }
}
