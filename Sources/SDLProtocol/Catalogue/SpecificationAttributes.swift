/// The attributes of an element of a specification, read as what they should be; used by
/// `RPCSpecification`.
struct SpecificationAttributes {
    let tag: String
    let values: [String: String]
    let line: Int

    subscript(key: String) -> String? { values[key] }

    func error(_ reason: String) -> RPCSpecificationError {
        let name = values["name"].map { " \"\($0)\"" } ?? ""
        return RPCSpecificationError(line: line, reason: "<\(tag)>\(name): \(reason)")
    }

    /// - Parameter isNew: Whether nothing else beside it has this name.
    func check(_ isNew: Bool) throws(RPCSpecificationError) {
        if !isNew { throw error("defined twice") }
    }

    func required(_ key: String) throws(RPCSpecificationError) -> String {
        guard let value = values[key], !value.isEmpty else { throw error("no \(key)") }
        return value
    }

    func name() throws(RPCSpecificationError) -> String {
        let name = try required("name")
        guard name.utf8.count <= 100, name.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
            throw error("expected a name of at most 100 printable ASCII characters")
        }
        return name
    }

    func bool(_ key: String, default missing: Bool) throws(RPCSpecificationError) -> Bool {
        switch values[key] {
        case nil: missing
        case "true": true
        case "false": false
        case let text?: throw error("\(key) \"\(text)\", expected true or false")
        }
    }

    func number(_ key: String) throws(RPCSpecificationError) -> Double? {
        guard let text = values[key], !text.isEmpty else { return nil }
        guard let number = Double(text), number.isFinite else {
            throw error("\(key) \"\(text)\", expected a number")
        }
        return number
    }

    func size(_ key: String) throws(RPCSpecificationError) -> Int? {
        guard let text = values[key], !text.isEmpty else { return nil }
        guard let number = Int32(text), number >= 0 else {
            throw error("\(key) \"\(text)\", expected a whole number from 0 to \(Int32.max)")
        }
        return Int(number)
    }

    func lifetime() throws(RPCSpecificationError) -> RPCLifetime {
        RPCLifetime(
            statedSince: try version("since"), until: try version("until"),
            isDeprecated: try bool("deprecated", default: false))
    }

    private func version(_ key: String) throws(RPCSpecificationError) -> SDLVersion? {
        guard let text = values[key], !text.isEmpty else { return nil }
        guard let version = SDLVersion(text: text) else {
            throw error("\(key) \"\(text)\", expected a version such as 4.5 or 8.0.0")
        }
        return version
    }
}
