import NIOCore
package import SDLProtocol

/// Compares an answer with the recorded one.
///
/// Compares result code, success and all other parameters, except those that differ in every session:
/// `hashID`, `spaceAvailable`, and the values of vehicle data; and except those that were overwritten in the
/// recording.
package enum AnswerComparison {
    /// Parameters whose values are not compared, at any depth.
    package static let ignored: Set<String> = ["hashID", "spaceAvailable"]
    /// Enough for the listing of files or a head unit's capabilities; further values are not compared.
    static let maximumValues = 10_000
    /// A longer value is shown shortened.
    private static let maximumScalars = 120

    /// Lines "- path: value" of the recording and "+ path: value" of the live answer; none when both are the
    /// same.
    ///
    /// - Parameter masked: Parameters that were overwritten in the recording, in any letter case.
    package static func differences(
        recorded: RPCMessage, live: RPCMessage, masked: [String] = []
    ) -> [String] {
        var reader = Values(masked)
        reader.ignoresVehicleData = recorded.functionID == .getVehicleData
        let then = reader.of(recorded.parameters)
        let now = reader.of(live.parameters)
        var lines: [String] = []
        for (path, value) in then.sorted(by: { $0.key < $1.key }) where now[path] != value {
            lines.append(line("-", path, value))
            if let other = now[path] { lines.append(line("+", path, other)) }
        }
        for (path, value) in now.sorted(by: { $0.key < $1.key }) where then[path] == nil {
            lines.append(line("+", path, value))
        }
        return lines
    }

    /// A hash that is equal, in one run of the program, for requests with the same parameters.
    static func fingerprint(_ request: RPCMessage, ignoring masked: [String]) -> Int {
        var hasher = Hasher()
        for (path, value) in Values(masked).of(request.parameters).sorted(by: { $0.key < $1.key }) {
            hasher.combine(path)
            hasher.combine(value)
        }
        return hasher.finalize()
    }

    private static func line(_ sign: String, _ path: String, _ value: String) -> String {
        "\(sign) \(path): \(PrintableText.string(value, limit: maximumScalars))"
    }
}

/// Every value of a message by its path.
private struct Values {
    /// The ignored names, in lower case.
    private let ignored: Set<String>
    var ignoresVehicleData = false

    init(_ masked: [String]) {
        ignored = AnswerComparison.ignored.union(masked).reduce(into: []) {
            $0.insert($1.lowercased())
        }
    }

    func of(_ object: JSONObject) -> [String: String] {
        var found: [String: String] = [:]
        for member in object.members {
            guard let key = object.string(member.key), !isIgnored(key) else { continue }
            let isResult = ["success", "resultCode", "info"].contains(key)
            if ignoresVehicleData, !isResult {
                found[key] = "…"
            } else {
                collect(object, member.value, key, &found)
            }
        }
        return found
    }

    private func isIgnored(_ key: String) -> Bool { ignored.contains(key.lowercased()) }

    private func collect(
        _ container: some JSONContainer, _ token: JSONToken, _ path: String,
        _ found: inout [String: String]
    ) {
        guard found.count < AnswerComparison.maximumValues else { return }
        switch token.kind {
        case .object:
            guard let object = container.object(token), !object.members.isEmpty else {
                found[path] = "{}"
                return
            }
            for member in object.members {
                guard let key = object.string(member.key), !isIgnored(key) else { continue }
                collect(object, member.value, "\(path).\(key)", &found)
            }
        case .array:
            guard let array = container.array(token), !array.elements.isEmpty else {
                found[path] = "[]"
                return
            }
            for (index, element) in array.elements.enumerated() {
                collect(array, element, "\(path)[\(index)]", &found)
            }
        default:
            found[path] =
                container.string(token)
                ?? container.bytes.getString(
                    at: container.bytes.readerIndex + token.range.lowerBound,
                    length: token.range.count) ?? ""
        }
    }
}
