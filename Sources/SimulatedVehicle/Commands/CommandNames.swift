import OpenXCProtocol

/// How firmware finds out which command is meant, and what it cannot read although others can.
enum CommandNames {
    /// The known command whose name is a prefix of this name, with the arguments that came with it.
    ///
    /// - Returns: Nil for a command that is really unknown.
    static func byPrefix(_ name: String, _ object: JSONFragment) -> Command? {
        let words = CommandName.known.map(\.word)
        guard let word = words.first(where: { name.hasPrefix($0) }),
            let found = value("command", "\"\(name)\"", in: object.text)
        else { return nil }
        let text = Array(object.text.replacingCharacters(in: found, with: "\"\(word)\"").utf8)
        guard let message = try? VehicleMessage(json: text.span),
            case .command(let command) = message.content
        else { return nil }
        return command
    }

    /// Firmware reads `request` with an `id` in it, not with the `message_id` that the format's text names instead.
    static func isReadable(_ text: [UInt8]) -> Bool {
        let text = String(decoding: text, as: UTF8.self)
        return keyEnds("message_id", in: text).isEmpty || !keyEnds("id", in: text).isEmpty
    }

    /// Where a member has this value, in its literal form.
    private static func value(
        _ key: String, _ value: String, in text: String
    ) -> Range<String.Index>? {
        for end in keyEnds(key, in: text) where text[end...].hasPrefix(value) {
            return end..<text.index(end, offsetBy: value.count)
        }
        return nil
    }

    /// Where the values of members of this name begin. A match within a text is not a member's name: no colon
    /// follows it, and quotation marks within it are preceded by a backslash.
    private static func keyEnds(_ key: String, in text: String) -> [String.Index] {
        text.ranges(of: "\"\(key)\"").compactMap { range in
            guard text[..<range.lowerBound].last != "\\" else { return nil }
            let rest = text[range.upperBound...].drop(while: \.isWhitespace)
            guard rest.first == ":" else { return nil }
            return rest.dropFirst().drop(while: \.isWhitespace).startIndex
        }
    }
}

extension String {
    fileprivate func replacingCharacters(in range: Range<Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[range.upperBound...]
    }
}
