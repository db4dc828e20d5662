/// Makes file names from names on the wire. No name from an app or a head unit can leave the folder, hide
/// a file or overwrite one.
package enum MediaName {
    /// A name of letters, digits, "-", "_" and "."; anything else becomes one "-".
    ///
    /// Never empty, without a dot or dash at the start or a dot at the end, not a device name of Windows, and
    /// at most `maximumBytes` in UTF-8. A name that is cut keeps its ending.
    ///
    /// - Parameter fallback: The name if nothing is left.
    package static func sanitised(
        _ text: String, maximumBytes: Int = MediaLimits.maximumNameBytes, fallback: String
    ) -> String {
        var ending = ""
        var (name, isWhole) = cut(text, maximumBytes: maximumBytes)
        let mark = isDevice(name) ? "_" : ""
        if !isWhole || name.utf8.count + mark.utf8.count > maximumBytes {
            ending = self.ending(of: text)
            let room = maximumBytes - ending.utf8.count - mark.utf8.count
            (name, isWhole) = cut(text, maximumBytes: max(1, room))
        }
        return name.isEmpty ? fallback : mark + name + ending
    }

    private static func cut(_ text: String, maximumBytes: Int) -> (name: String, isWhole: Bool) {
        var name = ""
        var bytes = 0
        var isWhole = true
        // Only the beginning of a long text is read.
        var rest = text.unicodeScalars[...]
        for _ in 0..<4 * maximumBytes {
            guard let scalar = rest.popFirst() else { break }
            let kept: Unicode.Scalar = isKept(scalar) ? scalar : "-"
            if kept == "-", name.isEmpty || name.hasSuffix("-") { continue }
            if kept == ".", name.isEmpty || name.hasSuffix(".") { continue }
            let size = String(kept).utf8.count
            guard bytes + size <= maximumBytes else {
                isWhole = false
                break
            }
            bytes += size
            name.unicodeScalars.append(kept)
        }
        while name.hasSuffix("-") || name.hasSuffix(".") { name.removeLast() }
        return (name, isWhole && rest.isEmpty)
    }

    /// For example ".png"; empty where the part after the last dot is not an ending.
    private static func ending(of text: String) -> String {
        let end = text.unicodeScalars.suffix(1 + maximumEndingScalars)
        guard let dot = end.lastIndex(of: "."), dot != text.unicodeScalars.startIndex else {
            return ""
        }
        let letters = end[dot...].dropFirst()
        let isEnding =
            !letters.isEmpty && letters.allSatisfy { $0.isASCII && isKept($0) && $0 != "_" }
        return isEnding ? ".\(String(letters))" : ""
    }

    /// The limit for an ending without its dot: "jpeg", "geojson".
    private static let maximumEndingScalars = 8

    /// Whether Windows takes the name for that of a device, whatever its ending ("Naming Files, Paths, and
    /// Namespaces"): folders may be passed on to Windows users.
    private static func isDevice(_ name: String) -> Bool {
        let stem = name.prefix { $0 != "." }.uppercased()
        if ["CON", "PRN", "AUX", "NUL"].contains(stem) { return true }
        return stem.utf8.count == 4 && (stem.hasPrefix("COM") || stem.hasPrefix("LPT"))
            && stem.last?.isNumber == true
    }

    /// Letters and digits of all scripts. No marks, which could combine with the preceding character, and
    /// nothing that changes the direction of writing.
    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII {
            return scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                || scalar == "_" || scalar == "."
        }
        return switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .otherLetter, .decimalNumber:
            !scalar.properties.isDefaultIgnorableCodePoint
        default: false
        }
    }

    /// The same name with a number before its ending: "icon-2.png".
    package static func numbered(_ name: String, _ number: Int) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else {
            return "\(name)-\(number)"
        }
        return "\(name[..<dot])-\(number)\(name[dot...])"
    }

    /// - Parameters:
    ///   - app: The name that the app registered with; nil before that.
    ///   - title: "video", or the app's name for a file.
    ///   - ending: Including its dot; nil if the title has one.
    static func make(app: String?, title: String, ending: String?) -> String {
        let part = MediaLimits.maximumNameBytes / 2
        let app = sanitised(app ?? "", maximumBytes: part, fallback: "app")
        let title = sanitised(title, maximumBytes: part, fallback: "file")
        return "\(app)-\(title)\(ending ?? "")"
    }
}
