package import OpenXCProtocol
package import RelayCore
import Synchronization

/// How the clients of a vehicle interface are treated, with the built-in defaults.
package struct OpenXCConfiguration: Hashable, Sendable {
    /// The form that a client is sent until it asks for another. The frameworks expect JSON with NUL.
    package var framing = MessageFraming.json
    /// Bytes of messages that may wait for a client that does not read; beyond that, it misses messages. A
    /// vehicle interface on USB sends some 100 KB/s, so this holds several seconds.
    package var queueBytes = 256 << 10
    /// The messages that clients get.
    package var subscription = Subscription.everything
    /// Places where clients connect to get other messages, or another form.
    package var endpoints: [OpenXCEndpoint] = []
    /// Which clients may write what; by default, none may write anything.
    package var writes: [ClientWrites] = []

    package init() {}

    func permissions(of client: ClientPlace) -> WritePermissions {
        WritePermissions(writes.filter { $0.clients.contains(client) }.map(\.rule))
    }

    /// What clients of this place get.
    ///
    /// - Parameter entrance: The description of an endpoint's place; anything else means the default place.
    func choice(at entrance: String) -> (framing: MessageFraming, subscription: Subscription) {
        guard let endpoint = endpoints.first(where: { $0.place.description == entrance }) else {
            return (framing, subscription)
        }
        return (endpoint.framing ?? framing, endpoint.subscription(besides: subscription))
    }
}

/// A place where clients connect, with what they get there. Settings left out are those of the default place.
package struct OpenXCEndpoint: Hashable, Sendable, CustomStringConvertible {
    package enum Place: Hashable, Sendable, CustomStringConvertible {
        case address(ListenAddress)
        /// The path of a link to a pseudo-terminal.
        case terminal(String)

        package var description: String {
            switch self {
            case .address(let address): address.description
            case .terminal(let path): path
            }
        }
    }

    package var place: Place
    package var framing: MessageFraming?
    package var names: [String]?
    package var buses: [Int]?
    package var ids: [IdentifierRange]?
    package var onChange: Bool?
    package var maximumRate: Int?
    /// The text as it was configured.
    package let description: String

    package init(_ place: Place, description: String) {
        (self.place, self.description) = (place, description)
    }

    func subscription(besides usual: Subscription) -> Subscription {
        var subscription = usual
        if let names { subscription.names = names }
        if let buses { subscription.buses = buses }
        if let ids { subscription.ids = ids }
        if let onChange { subscription.onChange = onChange }
        if let maximumRate { subscription.maximumRate = maximumRate }
        return subscription
    }
}

/// Where a client is.
enum ClientPlace: Hashable, Sendable {
    case network(PeerAddress)
    /// The client has opened one of relayd's pseudo-terminals.
    case terminal
    case unknown

    init(_ connection: AppConnection) {
        if connection.entrance.hasPrefix("/") {
            self = .terminal
        } else {
            self = PeerName.address(of: connection.peer).map(Self.network) ?? .unknown
        }
    }
}

/// What the clients of one network, or those at terminals, may write: `127.0.0.1 can:1:0x7e0`.
package struct ClientWrites: Hashable, Sendable, CustomStringConvertible {
    package enum Clients: Hashable, Sendable, CustomStringConvertible {
        case network(Network)
        case terminals

        func contains(_ client: ClientPlace) -> Bool {
            switch (self, client) {
            case (.network(let network), .network(let address)): network.contains(address)
            case (.terminals, .terminal): true
            default: false
            }
        }

        package var description: String {
            switch self {
            case .network(let network): network.description
            case .terminals: "pty"
            }
        }
    }

    package let clients: Clients
    package let rule: WriteRule

    package static let expected =
        "WHO RULE, where WHO is a network or pty, and RULE is \(WriteRule.expected); "
        + "for example 127.0.0.1 can:1:0x7e0"

    /// Nil if the text is not valid; `expected` says what one looks like.
    package init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        guard words.count == 2, let rule = WriteRule(words[1]) else { return nil }
        if words[0] == "pty" {
            clients = .terminals
        } else {
            guard let network = try? Network(parsing: words[0]) else { return nil }
            clients = .network(network)
        }
        self.rule = rule
    }

    package var description: String { "\(clients) \(rule)" }
}

/// The configuration in force, shared with the code that reloads it.
package final class OpenXCSettings: Sendable {
    private let current: Mutex<OpenXCConfiguration>

    package init(_ configuration: OpenXCConfiguration) { current = Mutex(configuration) }

    /// A language adopts a change at its next `reconfigure`.
    package var configuration: OpenXCConfiguration {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
