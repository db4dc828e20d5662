import ArgumentParser
import DecodedTraces
import Traces

/// `relayctl trace anonymise`: make a trace that can be sent to somebody.
struct TraceAnonymiseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "anonymise",
        abstract: "Write a copy of a trace without data about people, cars and networks.",
        discussion: """
            Frames keep their length, so that everything else stays as it was. These are \
            overwritten:

              VIN and places         vin, gps, latitudeDegrees, longitudeDegrees, latitude, longitude,
                                     location, locationName, locationDescription, locationDetails,
                                     addressLines, address, wayPoints
              phones and people      phoneNumber, number, deviceInfo, deviceName, carrier, macAddress,
                                     email
              secrets                authToken
              files and recordings   bulk: the binary part of RPCs; streams: audio and video keep
                                     their headers only
              networks               addresses of apps and of the head unit
              also all bytes that were no frame, and texts in notices, advice and marks that look
              like one of these

            --mask adds a parameter, --keep leaves one of these as it is. Names of apps, their IDs \
            and what they show stay. Encrypted frames cannot be masked; they are counted. Look \
            through the new trace before you send it.

            EXAMPLES
              relayctl trace anonymise bug.pcapng -o bug-to-send.pcapng
              relayctl trace anonymise bug.pcapng -o bug-to-send.pcapng --mask appID --keep streams

            \(TraceCommand.exitCodes)
            """)

    static let names = [
        "vin", "gps", "latitudeDegrees", "longitudeDegrees", "latitude", "longitude", "location",
        "locationName", "locationDescription", "locationDetails", "addressLines", "address",
        "wayPoints", "phoneNumber", "number", "deviceInfo", "deviceName", "carrier", "macAddress",
        "email", "authToken", "bulk",
    ]
    static let streams = "streams"

    @Argument(
        help: ArgumentHelp("The trace.", valueName: "file"),
        completion: .file(extensions: ["pcapng"]))
    var file: String

    @OptionGroup var made: NewTraceOptions

    @Option(
        help: ArgumentHelp(
            "Overwrite this parameter as well, in any case. Repeatable.", valueName: "name"))
    var mask: [String] = []

    @Option(
        help: ArgumentHelp(
            "Do not overwrite this one, which is overwritten by default. Repeatable.",
            valueName: "name"),
        completion: .list(names + [streams]))
    var keep: [String] = []

    func validate() throws {
        try TraceArguments.check(file)
        try Names.check(mask, "--mask", example: "the name of a parameter such as mainField1")
        let known = Self.names + [Self.streams]
        for name in keep where !known.contains(where: { Names.areSame($0, name) }) {
            throw ValidationError(
                "--keep is \"\(SafeText.clean(name))\"; expected one of \(known.joined(separator: ", "))"
            )
        }
    }

    func run() throws {
        let kept = keep
        func isKept(_ name: String) -> Bool { kept.contains { Names.areSame($0, name) } }
        var choice = TraceAnonymiser.Choice(
            names: Self.names.filter { !isKept($0) }
                + mask.filter { name in !Self.names.contains { Names.areSame($0, name) } })
        choice.omitsStreams = !isKept(Self.streams)
        try TraceFailure.told {
            var files = TraceFiles([file], onEnd: TraceFailure.tellUnfinished)
            var anonymiser = TraceAnonymiser(choice) { text in
                var redactor = Redactor()
                return TraceAddresses.masked(redactor.text(text))
            }
            guard let first = try files.nextEntry(),
                case .record(.trace(let header)) = first.content
            else { throw TraceFailure("\(file) does not begin as a trace does") }
            var output = try TraceOutput(
                made.path, anonymiser.header(header), deed: "anonymised", at: first.time)
            while let entry = try files.nextEntry() { try output.append(anonymiser.mask(entry)) }
            let sum = try output.finish(because: "anonymised")
            var more = "; \(Units.count(anonymiser.changedFrames, "frame")) masked"
            if anonymiser.encryptedFrames > 0 {
                more +=
                    ", \(Units.count(anonymiser.encryptedFrames, "encrypted frame")) cannot be masked "
                    + "and stayed as they are"
            }
            try made.tell(
                sum, masked: anonymiser.changedFrames, encrypted: anonymiser.encryptedFrames,
                more + ". Look through it before you send it.\n")
        }
    }
}

/// Masks network addresses in texts for people.
enum TraceAddresses {
    /// Replaces IPv4 and IPv6 addresses, with any port behind them, by "masked".
    static func masked(_ text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).map { word in
            isAddress(word) ? "masked" : String(word)
        }.joined(separator: " ")
    }

    private static func isAddress(_ word: Substring) -> Bool {
        let plain = word.filter { !"()[],;".contains($0) }
        let digits = plain.prefix { $0.isNumber || $0 == "." || $0 == ":" }
        let parts = digits.split(separator: ":").first?.split(separator: ".") ?? []
        if parts.count == 4, parts.allSatisfy({ UInt8($0) != nil }) { return true }
        let groups = plain.split(separator: ":", omittingEmptySubsequences: false)
        return groups.count > 3
            && groups.allSatisfy { $0.count <= 5 && $0.allSatisfy { $0.isHexDigit || $0.isNumber } }
    }
}
