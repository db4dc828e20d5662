import OpenXCProtocol

/// How firmware finds out which command is meant, and what it cannot read although others can.
enum CommandNames {
    /// The command whose name is the beginning of this one, with the arguments that it has.
    ///
    /// - Returns: Nil for one that is really unknown.
    static func byPrefix(_ name: String, _ object: JSONFragment) -> Command? {
        let words = CommandName.known.map(\.word)
        guard let word = words.first(where: { name.hasPrefix($0) }),
            let found = object.text.firstRange(of: "\"\(name)\"")
        else { return nil }
        let text = Array(object.text.replacingCharacters(in: found, with: "\"\(word)\"").utf8)
        guard let message = try? VehicleMessage(json: text.span),
            case .command(let command) = message.content
        else { return nil }
        return command
    }

    /// Firmware reads `request` with an `id` in it, and not what the format's text says instead.
    static func isReadable(_ text: [UInt8]) -> Bool {
        !String(decoding: text, as: UTF8.self).contains("\"message_id\"")
    }
}

extension String {
    fileprivate func replacingCharacters(in range: Range<Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[range.upperBound...]
    }
}
