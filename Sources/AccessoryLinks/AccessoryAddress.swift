import DidYouMean
import OpenXCTraces

/// Where the accessory is, in one string: `scheme:path?option=value&…`.
///
/// Read from the strings of the configuration and `--accessory`. `TransportCatalog` turns the address into a
/// transport, which interprets path and options; only the syntax is checked here.
package struct AccessoryAddress: Hashable, Sendable {
    /// The kind of transport, lower case: `serial`.
    package let scheme: String
    /// The language spoken there. Written before the transport unless it is SDL or follows from the rest:
    /// `openxc+serial:`, `sim:openxc`.
    package private(set) var language: Language
    /// The part between the colon and the question mark, percent-decoded: `/dev/ttyUSB0`.
    package let path: String
    /// In the order in which they were typed; names are lower case and occur once.
    package let options: [Option]

    package struct Option: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    /// What an accessory speaks.
    package enum Language: String, Hashable, Sendable, CaseIterable {
        case sdl
        case openxc

        /// The transports over which languages other than SDL can be spoken: all devices and sockets.
        package static let transports = ["tcp", "serial", "bluetooth", "rfcomm", "usb"]

        /// The language that scheme and path imply: `sim:openxc` and `usb:openxc` name theirs.
        static func implied(_ scheme: String, _ path: String) -> Language {
            [SimTransport.scheme, USBTransport.scheme].contains(scheme)
                && path.lowercased() == "openxc" ? .openxc : .sdl
        }
    }

    /// An address is a line of configuration, not a document.
    package static let maximumUTF8Count = 4096

    package init(_ text: String) throws(AddressError) {
        guard text.utf8.count <= Self.maximumUTF8Count else {
            throw AddressError(
                "the head unit's address is \(text.utf8.count) bytes long; "
                    + "expected at most \(Self.maximumUTF8Count)")
        }
        guard !text.utf8.contains(0) else {
            throw AddressError(
                "the head unit's address has a NUL byte, which no path and no name has")
        }
        let (language, bare) = try Self.splitLanguage(text)
        let (scheme, rest) = try Self.splitScheme(bare)
        guard language == .sdl || Language.transports.contains(scheme) else {
            throw AddressError(
                "\"\(text)\": \(language.rawValue)+ can only come before "
                    + "\(Language.transports.map { "\($0):" }.joined(separator: ", ")); "
                    + "sim:openxc and replay: of an OpenXC trace need none")
        }
        self.scheme = scheme
        let parts = rest.split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = try Self.decode(parts[0], of: text)
        self.language = language == .sdl ? .implied(scheme, path) : language
        options = parts.count == 2 ? try Self.parseOptions(parts[1], of: text) : []
        // Digits may have been percent-encoded.
        if options.isEmpty { try Self.refuseHostAndPort(scheme, path[...], in: text) }
    }

    /// The value of an option, nil when it was not given.
    package subscript(option name: String) -> String? {
        options.first { $0.name == name }?.value
    }

    /// All options by name.
    package var optionValues: [String: String] {
        var values: [String: String] = [:]
        for option in options { values[option.name] = option.value }
        return values
    }

    /// The same address with the language that is spoken there; for `replay:`, the file is examined. A file that
    /// cannot be read counts as a recording of SDL; opening it reports what is wrong.
    package func judged() -> AccessoryAddress {
        guard scheme == ReplayTransport.scheme, OpenXCTraceFile.isTrace(path) else { return self }
        var judged = self
        judged.language = .openxc
        return judged
    }

    /// Refuses options that the transport does not know.
    package func requireOptions(among known: [String]) throws(AddressError) {
        for option in options where !known.contains(option.name) {
            let hint =
                Spelling.nearest(option.name, in: known).map {
                    "; did you mean \"\($0)\"?"
                } ?? ""
            let list =
                known.isEmpty
                ? "\(scheme): takes no options" : "known: \(known.joined(separator: ", "))"
            throw AddressError(
                "unknown option \"\(option.name)\" in \"\(self)\"; \(list)\(hint)")
        }
    }
}

// MARK: - Reading

extension AccessoryAddress {
    /// `openxc+tcp:…` is `tcp:…`, in OpenXC.
    private static func splitLanguage(
        _ text: String
    ) throws(AddressError) -> (language: Language, rest: String) {
        guard let plus = text.firstIndex(of: "+"),
            text.firstIndex(of: ":").map({ plus < $0 }) ?? true
        else { return (.sdl, text) }
        let word = text[..<plus].lowercased()
        guard let language = Language(rawValue: word), language != .sdl else {
            throw AddressError(
                "\"\(word)\" in \"\(text)\" is not a known language; known: openxc, as in "
                    + "openxc+tcp:192.168.0.5:50001. SDL is spoken without one")
        }
        return (language, String(text[text.index(after: plus)...]))
    }

    private static func splitScheme(
        _ text: String
    ) throws(AddressError) -> (scheme: String, rest: Substring) {
        guard let first = text.unicodeScalars.first else {
            throw AddressError(
                "the head unit's address is empty; expected SCHEME:PATH, for example \"sim:\"")
        }
        if first == "/" {
            let kind = text.contains("rfcomm") ? "rfcomm" : "serial"
            throw AddressError(
                "\"\(text)\" does not say which transport; did you mean \"\(kind):\(text)\"?")
        }
        guard let colon = text.firstIndex(of: ":") else {
            let hint =
                TransportCatalog.schemes.contains(text.lowercased())
                ? "did you mean \"\(text.lowercased()):\"?"
                : "expected SCHEME:PATH, for example \"sim:\" or \"serial:/dev/ttyUSB0\""
            throw AddressError("\"\(text)\" names no transport; \(hint)")
        }
        let scheme = text[..<colon]
        let rest = text[text.index(after: colon)...]
        let wellFormed =
            scheme.utf8.first.map { isLetter($0) } == true
            && scheme.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "-") }
        try refuseHostAndPort(scheme.lowercased(), rest, in: text)
        guard wellFormed else {
            throw AddressError(
                "\"\(scheme)\" in \"\(text)\" is not the name of a transport; "
                    + "known: \(TransportCatalog.schemes.joined(separator: ", "))")
        }
        return (scheme.lowercased(), rest)
    }

    private static func refuseHostAndPort(
        _ scheme: String, _ path: Substring, in text: String
    ) throws(AddressError) {
        guard !path.isEmpty, path.utf8.allSatisfy({ isDigit($0) }),
            !TransportCatalog.schemes.contains(scheme)
        else { return }
        throw AddressError(
            "\"\(text)\" does not say which transport; did you mean \"tcp:\(text)\"?")
    }

    private static func parseOptions(
        _ query: Substring, of text: String
    ) throws(AddressError) -> [Option] {
        var options: [Option] = []
        for field in query.split(separator: "&", omittingEmptySubsequences: true) {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].lowercased()
            guard parts.count == 2, !name.isEmpty else {
                throw AddressError(
                    "option \"\(field)\" in \"\(text)\" has no value; expected NAME=VALUE")
            }
            guard !options.contains(where: { $0.name == name }) else {
                throw AddressError("option \"\(name)\" is given twice in \"\(text)\"; keep one")
            }
            options.append(Option(name: name, value: try decode(parts[1], of: text)))
        }
        return options
    }

    private static func decode(
        _ text: Substring, of whole: String
    ) throws(AddressError) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexValue),
                let low = rest.popFirst().flatMap(hexValue), high << 4 | low != 0
            else {
                throw AddressError(
                    "a \"%\" in \"\(whole)\" is not followed by two hexadecimal digits; "
                        + "write %25 for a percent sign")
            }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw AddressError("the percent-encoded bytes in \"\(whole)\" are not UTF-8")
        }
        return decoded
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}

// MARK: - Writing

extension AccessoryAddress: CustomStringConvertible {
    /// The address as it can be typed again; reading it gives an equal address.
    package var description: String {
        // A language that `judged()` found out is not written.
        let isSaid =
            language != .implied(scheme, path) && Language.transports.contains(scheme)
        var text = isSaid ? "\(language.rawValue)+" : ""
        text += "\(scheme):\(Self.encode(path, reserved: "%?"))"
        for (index, option) in options.enumerated() {
            text += index == 0 ? "?" : "&"
            text += "\(option.name)=\(Self.encode(option.value, reserved: "%&"))"
        }
        return text
    }

    /// Reserved characters, blanks and control characters become %XX; the rest stays readable.
    private static func encode(_ text: String, reserved: String) -> String {
        let digits = Array("0123456789ABCDEF")
        var encoded = ""
        for scalar in text.unicodeScalars {
            if scalar.value <= 0x20 || scalar.value == 0x7F
                || reserved.unicodeScalars.contains(scalar)
            {
                encoded.append("%")
                encoded.append(digits[Int(scalar.value >> 4)])
                encoded.append(digits[Int(scalar.value & 0xF)])
            } else {
                encoded.unicodeScalars.append(scalar)
            }
        }
        return encoded
    }
}
