// Takes out of a report what is nobody's business: by name of JSON members, and by form in text.
// Used by `relayctl bugreport`.

/// Replaces values and counts them.
package struct Redactor: Sendable {
    /// Members whose value is taken out, whatever it is; upper and lower case do not matter. Vehicle
    /// identity and place, session secrets, phone and people (MOBILE_API; SDL protocol spec,
    /// "StartServiceACK").
    package static let members: Set<String> = [
        "vin", "gps", "latitudedegrees", "longitudedegrees", "latitude", "longitude", "location",
        "locationname", "locationdescription", "addresslines", "address_lines", "hashid", "hash_id",
        "hash", "authtoken", "auth_token", "token", "phonenumber", "number", "devicename",
        "deviceinfo", "carrier", "macaddress", "email", "waypoints",
    ]

    package static let mark = "[redacted]"

    /// Values taken out so far.
    package private(set) var count = 0

    package init() {}

    /// JSON, also several objects one after the other, with the values of `members` replaced.
    package mutating func json(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\"") else {
                result.append(bytes[index])
                index += 1
                continue
            }
            let end = Self.endOfString(bytes, from: index)
            result += bytes[index..<end]
            let name = String(decoding: bytes[index..<end].dropFirst().dropLast(), as: UTF8.self)
            index = end
            let colon = Self.skipBlanks(bytes, from: end)
            guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":"),
                Self.members.contains(name.lowercased())
            else { continue }
            index = Self.endOfValue(bytes, from: Self.skipBlanks(bytes, from: colon + 1))
            result += Array(": \"\(Self.mark)\"".utf8)
            count += 1
        }
        return self.text(String(decoding: result, as: UTF8.self))
    }

    /// Text with what looks like a VIN, a session's hash or a position replaced.
    package mutating func text(_ text: String) -> String {
        var text = text
        for pattern in [
            #/\b(?=[A-Z]*[0-9])(?=[0-9]*[A-Z])[A-HJ-NPR-Z0-9]{17}\b/#, #/\bhash 0x[0-9a-f]+/#,
            #/(?i:latitude|longitude)[A-Za-z]*[" :=]+-?[0-9]+\.[0-9]+/#,
        ] {
            let found = text.ranges(of: pattern).count
            guard found > 0 else { continue }
            count += found
            text = text.replacing(pattern, with: Self.mark)
        }
        return text
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
                // The end of what the value stands in.
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
