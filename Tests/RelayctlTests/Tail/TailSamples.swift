// Messages of relayd's stream for the tests of `tail`'s lines.

import NIOCore
import RelayTesting
import SDLProtocol
import SDLTraffic

@testable import relayctl

enum TailSamples {
    /// relayd's stream for these entries.
    static func json(_ entries: [TrafficEntry], colours: Bool = false) throws -> [JSONObject] {
        var formatter = MessageFormatter(.summary, hasColours: colours)
        return try entries.map { entry in
            var line = ByteBuffer()
            formatter.append(entry, to: &line)
            return try JSONObject(line)
        }
    }

    static func messages(_ entries: [TrafficEntry]) throws -> [TailMessage] {
        try json(entries).compactMap { TailMessage($0, keepingColours: false) }
    }

    /// The lines for a single reader: without colours, in UTC.
    static func lines(_ entries: [TrafficEntry], width: Int?) throws -> [String] {
        let row = row(width)
        return try messages(entries).map(row.line)
    }

    static func row(_ width: Int?, style: Style = .plain) -> TailRow {
        TailRow(layout: TailLayout(width: width), style: style, localTime: .utc)
    }

    /// A message with these members.
    static func message(_ members: String, colours: Bool = false) throws -> TailMessage {
        let json = try JSONObject(ByteBuffer(string: "{\"n\":17,\(members)}"))
        guard let message = TailMessage(json, keepingColours: colours) else { throw NoMessage() }
        return message
    }

    struct NoMessage: Error {}
}
