import DidYouMean

/// Removes private values from a report and counts them: by the name of JSON members here, by their form
/// in text in `Redactor+Text.swift`. Used by `relayctl bugreport`.
struct Redactor: Sendable {
    /// Members whose value is always removed, ignoring case, "_" and "-": vehicle identity and position,
    /// session secrets, phone, people, and raw bytes, which may be any of them (MOBILE_API; SDL protocol
    /// spec, "StartServiceACK").
    static let members: Set<String> = [
        "vin", "gps", "latitudedegrees", "longitudedegrees", "latitude", "longitude", "location",
        "locationname", "locationdescription", "addresslines", "locationdetails", "hashid", "hash",
        "authtoken", "token", "phonenumber", "number", "devicename", "deviceinfo", "carrier",
        "macaddress", "email", "waypoints", "firstbytes", "serial",
        // A message in words, without the names by which its parts could be judged; "text" has them.
        "summary",
    ]

    static let mark = "[redacted]"
    static let markBytes = Array(mark.utf8)

    /// Number of values removed so far.
    var count = 0

    /// - Parameter leavesOutParameters: Whether the parameters of messages are removed as a whole.
    init(leavesOutParameters: Bool = false) {
        self.leavesOutParameters = leavesOutParameters
    }

    private let leavesOutParameters: Bool
    /// Members that hold the parameters of a message.
    private static let parameters: Set<String> = ["params", "parameters"]
    /// The line of a message of the traffic, which has some of its parameters without their names.
    /// Members of this name in other objects stay.
    private static let words = "message"
    /// The first member of every message of the traffic.
    private static let number = "n"
    /// Holds objects with a name and the "value" that an app was told last, which was a parameter.
    private static let told = "vehicle_data"

    /// Results for names that were compared before: the same names recur throughout a report.
    private var compared: [String: Bool] = [:]
    /// Limit of `compared`, because an app may use any names; further names are compared anew.
    private static let maximumCompared = 10_000

    /// Mutating only in order to remember the result.
    private mutating func isSensitive(_ name: String) -> Bool {
        if let known = compared[name] { return known }
        let isSensitive = Self.isSensitive(name)
        if compared.count < Self.maximumCompared { compared[name] = isSensitive }
        return isSensitive
    }

    /// Shorter names have too many similar names with another meaning.
    private static let shortestMisspelt = 5
    /// From this length on, a name with two typos still counts as the same name.
    private static let longName = 9
    /// Longer names match none of `members`, even with typos.
    private static let longestName = 40

    /// Whether a name is one of `members`, or nearly so: an app that misspells "number" has somebody's
    /// number in "nmber".
    static func isSensitive(_ name: String) -> Bool {
        guard name.utf8.count <= longestName else { return false }
        let plain = name.lowercased().filter { $0 != "_" && $0 != "-" }
        if members.contains(plain) { return true }
        guard plain.utf8.count >= shortestMisspelt else { return false }
        return members.contains { member in
            guard member.utf8.count >= shortestMisspelt else { return false }
            let slips = min(member.utf8.count, plain.utf8.count) >= longName ? 2 : 1
            return Spelling.distance(plain, member) <= slips
        }
    }

    // MARK: JSON

    /// Replaces the values of `members` in JSON, also in several objects in a row, and in all other
    /// strings what `text` replaces.
    mutating func json(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        var depth = 0
        // Objects, by depth, with a sensitive name such as {"name": "vin", …: their "value" is secret.
        var named: Set<Int> = []
        // Objects, by depth, that are messages of the traffic.
        var numbered: Set<Int> = []
        // Depth of the object with {"vehicle_data": …, until its next member.
        var telling: Int?
        var member = ""
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\"") else {
                if byte == UInt8(ascii: "{") {
                    depth += 1
                    named.remove(depth)
                    numbered.remove(depth)
                } else if byte == UInt8(ascii: "}") {
                    depth -= 1
                }
                result.append(byte)
                index += 1
                continue
            }
            let end = Self.endOfString(bytes, from: index)
            let content = Self.content(bytes, index..<end)
            let colon = Self.skipBlanks(bytes, from: end)
            guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else {
                result.append(byte)
                appendText(bytes[content], of: member, to: &result)
                result += bytes[content.upperBound..<end]
                index = end
                continue
            }
            result += bytes[index..<end]
            member = String(decoding: bytes[content], as: UTF8.self)
            index = end
            if member == Self.told, leavesOutParameters {
                telling = depth
            } else if let outer = telling, depth <= outer {
                telling = nil
            }
            let start = Self.skipBlanks(bytes, from: colon + 1)
            let stop = Self.endOfValue(bytes, from: start)
            let value = bytes[start..<stop]
            if member == "name" {
                let name = String(decoding: value.dropFirst().dropLast(), as: UTF8.self)
                if isSensitive(name) { named.insert(depth) }
            }
            if member == Self.number { numbered.insert(depth) }
            let isSecret =
                leavesOutParameters && Self.parameters.contains(member)
                || member == Self.words && numbered.contains(depth)
                || isSensitive(member)
                || member == "value" && (telling != nil || named.contains(depth))
            guard isSecret, !Self.isFlag(value) else { continue }
            result += Array(": \"\(Self.mark)\"".utf8)
            count += 1
            index = stop
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The range between the quotes; the second one may be missing.
    private static func content(_ bytes: [UInt8], _ range: Range<Int>) -> Range<Int> {
        let isClosed = range.count > 1 && bytes[range.upperBound - 1] == UInt8(ascii: "\"")
        return range.lowerBound + 1..<(isClosed ? range.upperBound - 1 : range.upperBound)
    }

    /// true and false identify nobody.
    private static func isFlag(_ value: ArraySlice<UInt8>) -> Bool {
        value.elementsEqual("true".utf8) || value.elementsEqual("false".utf8)
    }

    // MARK: Where things end; broken JSON ends with the text

    private static func skipBlanks(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index] <= UInt8(ascii: " ") { index += 1 }
        return index
    }

    private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start + 1
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\"") { return index + 1 }
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return bytes.count
    }

    private static func endOfValue(_ bytes: [UInt8], from start: Int) -> Int {
        var index = start
        var depth = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index = endOfString(bytes, from: index)
                if depth == 0 { return index }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The end of the enclosing object or array.
                if depth == 0 { return index }
                depth -= 1
                if depth == 0 { return index + 1 }
            case UInt8(ascii: ","), UInt8(ascii: "\n"): if depth == 0 { return index }
            default: break
            }
            index += 1
        }
        return bytes.count
    }
}
