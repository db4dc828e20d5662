package import OpenXCProtocol
package import RelayCore

/// How the clients of a vehicle interface are treated, with the built-in defaults.
package struct OpenXCConfiguration: Hashable, Sendable {
    /// What a client hears until it asks for another form. JSON with NUL is what the frameworks expect.
    package var framing = MessageFraming.json
    /// Bytes of messages that wait for a client that does not read; beyond, it misses messages. A vehicle
    /// interface on USB brings some 100 KB/s: several seconds of it.
    package var queueBytes = 256 << 10
    /// What clients get.
    package var subscription = Subscription.everything
    /// Who may write what; nobody anything by default.
    package var writes: [ClientWrites] = []

    package init() {}

    func permissions(of peer: PeerAddress?) -> WritePermissions {
        guard let peer else { return .none }
        return WritePermissions(writes.filter { $0.clients.contains(peer) }.map(\.rule))
    }
}

/// What clients of one network may write: `127.0.0.1 can:1:0x7e0`.
package struct ClientWrites: Hashable, Sendable, CustomStringConvertible {
    package let clients: Network
    package let rule: WriteRule

    package static let expected =
        "NETWORK RULE, where RULE is \(WriteRule.expected); for example 127.0.0.1 can:1:0x7e0"

    /// Nil if the text is not valid; `expected` says what one looks like.
    package init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        guard words.count == 2, let clients = try? Network(parsing: words[0]),
            let rule = WriteRule(words[1])
        else { return nil }
        self.clients = clients
        self.rule = rule
    }

    package var description: String { "\(clients) \(rule)" }
}
