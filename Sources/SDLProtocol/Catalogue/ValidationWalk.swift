import DidYouMean
import NIOCore

/// Walks through the parameters of one message beside their definitions; made by `RPCValidator` for
/// each message, values are judged in `ValidationWalk+Values`. The JSON is known to be well-formed:
/// `JSONObject` has checked it.
struct ValidationWalk {
    let index: CatalogueIndex
    let catalogue: RPCCatalogue
    let message: RPCMessage
    let sender: RPCSender
    let version: SDLVersion?
    /// `version` in the index's form; 0 = unknown.
    let packedVersion: UInt32
    private(set) var problems: [ValidationProblem] = []
    private var reports = 0
    private var hints = 0

    init(
        validator: RPCValidator, message: RPCMessage, sender: RPCSender, version: SDLVersion?
    ) {
        index = validator.index
        catalogue = validator.catalogue
        self.message = message
        self.sender = sender
        self.version = version
        packedVersion = version?.packed ?? 0
    }

    /// Reports, including those that only repeat others, after which nothing more is looked for.
    private static let maximumReports = 200
    /// Names looked for in the catalogue: costly, hence only a few times per message.
    private static let maximumHints = 4

    var isFull: Bool {
        problems.count >= RPCValidator.maximumProblems || reports >= Self.maximumReports
    }

    /// Callers ask `isFull` before they put a problem into words.
    mutating func report(_ problem: ValidationProblem) {
        guard !isFull else { return }
        reports += 1
        problems.append(problem)
    }

    /// Assigns the problems from `first` on to element `number`. Those that an element since
    /// `start` has as well are counted there; the others get the number in front of their path.
    mutating func endElement(_ number: Int, from first: Int, arraySince start: Int) {
        guard problems.count > first else { return }
        let new = problems[first...]
        problems.removeSubrange(first...)
        for var problem in new {
            problem.path = Self.joint(problem.path)
            let same = problems[start..<first].firstIndex {
                $0.rule == problem.rule && $0.found == problem.found
                    && $0.subject == problem.subject
                    && $0.path.drop { $0 != "]" }.dropFirst() == problem.path
            }
            if let same {
                problems[same].repeats += 1 + problem.repeats
            } else {
                problem.path = "[\(number)]" + problem.path
                problems.append(problem)
            }
        }
    }

    /// A path as it continues another one.
    private static func joint(_ path: String) -> String {
        path.isEmpty || path.hasPrefix("[") ? path : "." + path
    }

    /// Puts `component` in front of the path of all problems from `first` on: paths grow from the
    /// inside, so that they cost nothing while all is well.
    mutating func prefix(_ component: String, from first: Int) {
        for at in first..<problems.count {
            problems[at].path = component + Self.joint(problems[at].path)
        }
    }

    // MARK: The message

    mutating func check(function group: Int) {
        checkLife(of: group)
        let parameters = message.parameters
        let text = parameters.bytes.readableBytesUInt8Span
        var seen: UInt64 = 0
        for member in parameters.members {
            var at = member.value.range.lowerBound
            // Cannot throw: the text is well-formed.
            try? check(member.key, in: group, text, &at, &seen)
        }
        let outcome = message.type == .response ? RPCOutcome(message) : nil
        checkMandatory(of: group, seen: seen, isFailure: outcome?.success == false)
        if let outcome { check(outcome) }
    }

    private mutating func checkLife(of group: Int) {
        let life = index.groups[group].life
        guard life.matters, packedVersion != 0 || life.isDeprecated else { return }
        let source = Int(index.groups[group].source)
        switch verdict(on: life) {
        case .exists: break
        case .newer:
            // A head unit of a later version may well tell older apps more than they know.
            let severity: ValidationSeverity = sender == .app ? .error : .note
            report(newer(catalogue.functions[source].name, life, severity))
        case .removed:
            report(removed(catalogue.functions[source].name, life))
        case .deprecated:
            // Answers are deprecated with their requests, for which it was reported already.
            guard message.type != .response, sender == .app else { return }
            report(deprecated(catalogue.functions[source].name, life))
        }
    }

    private mutating func check(_ outcome: RPCOutcome) {
        guard let stated = message.parameters.bool("success"), !outcome.resultCode.isEmpty else {
            return
        }
        let isContradiction =
            stated
            ? Self.failureCodes.contains(outcome.resultCode) : outcome.resultCode == "SUCCESS"
        guard isContradiction, !isFull else { return }
        report(
            ValidationProblem(
                rule: .contradiction, severity: .warning, path: "resultCode",
                found: PrintableText.string(outcome.resultCode, limit: Self.foundLimit),
                expected: stated
                    ? "SUCCESS or WARNINGS as success is true" : "a failure as success is false"))
    }

    /// Codes that say that nothing was done. The others occur with success as well as without.
    private static let failureCodes: Set<String> = [
        "INVALID_DATA", "DISALLOWED", "REJECTED", "USER_DISALLOWED", "OUT_OF_MEMORY",
        "TOO_MANY_PENDING_REQUESTS", "INVALID_ID", "DUPLICATE_NAME", "APPLICATION_NOT_REGISTERED",
        "APPLICATION_REGISTERED_ALREADY", "TOO_MANY_APPLICATIONS", "GENERIC_ERROR",
        "UNSUPPORTED_REQUEST", "UNSUPPORTED_VERSION", "FILE_NOT_FOUND", "CORRUPTED_DATA",
        "ENCRYPTION_NEEDED",
    ]

    // MARK: Members

    /// Checks the member of `group` whose value stands at `at`, and moves behind the value.
    mutating func check(
        _ key: JSONToken, in group: Int, _ text: Span<UInt8>, _ at: inout Int,
        _ seen: inout UInt64
    ) throws(JSONError) {
        let found =
            key.hasEscapes
            ? member(of: group, named: JSONUnescaper.string(key, in: text))
            : index.member(of: group, named: text, key.content)
        guard let found else {
            _ = try JSONScanner.value(text, &at)
            guard !isFull else { return }
            let problem = unknownParameter(key, in: group)
            report(problem)
            return
        }
        seen |= index.members[found].mandatoryBit
        let first = problems.count
        let definition = definition(of: found)
        if index.members[found].isArray {
            try checkArray(definition, text, &at)
        } else {
            try checkValue(definition, text, &at)
        }
        guard problems.count > first else { return }
        prefix(index.name(of: found), from: first)
        if sender == .accessory, verdict(on: index.members[found].life) == .deprecated {
            // Nobody is supposed to read a deprecated parameter any more.
            for at in first..<problems.count { problems[at].severity = .note }
        }
    }

    func member(of group: Int, named name: String) -> Int? {
        let name = name.utf8.span
        return index.member(of: group, named: name, 0..<name.count)
    }

    /// - Parameters:
    ///   - isNested: Whether the group is that of a struct, where app libraries put up with what a
    ///     head unit forgot.
    ///   - isFailure: Whether the message is a response that failed, which need only say that.
    mutating func checkMandatory(
        of group: Int, seen: UInt64, isNested: Bool = false, isFailure: Bool = false
    ) {
        let missing = index.groups[group].mandatory & ~seen
        guard missing != 0 else { return }
        let first = Int(index.groups[group].firstMember)
        for member in first..<first + Int(index.groups[group].memberCount)
        where index.members[member].mandatoryBit & missing != 0 {
            let life = index.members[member].life
            switch verdict(on: life) {
            case .newer, .removed: continue
            case .exists, .deprecated: break
            }
            guard index.members[currentDefinition(of: member)].isMandatory else { continue }
            let name = index.name(of: member)
            if isFull || isFailure && name != "success" && name != "resultCode" { continue }
            let severity: ValidationSeverity = isNested && sender == .accessory ? .warning : .error
            report(
                ValidationProblem(
                    rule: .missingMandatory, severity: severity, path: name, found: "nothing",
                    expected: expected(member)))
        }
    }

    // MARK: Versions

    enum Verdict {
        case exists
        case deprecated
        case newer
        case removed
    }

    func verdict(on life: CatalogueIndex.Life) -> Verdict {
        guard packedVersion != 0 else { return life.isDeprecated ? .deprecated : .exists }
        if packedVersion < life.since { return .newer }
        if life.until != 0, packedVersion >= life.until { return .removed }
        return life.isDeprecated && packedVersion >= life.deprecated ? .deprecated : .exists
    }

    /// The definition of a parameter to judge its value by; reports what its version says.
    private mutating func definition(of member: Int) -> Int {
        let life = index.members[member].life
        guard life.matters else { return member }
        checkLife(of: life)
        return currentDefinition(of: member)
    }

    /// Reports, without a path, something that should not be in a message of this version.
    ///
    /// - Parameter word: A word of an enumeration; nil when the parameter itself is meant.
    mutating func checkLife(of life: CatalogueIndex.Life, word: Int? = nil) {
        guard !isFull else { return }
        let verdict = verdict(on: life)
        guard verdict != .exists else { return }
        let subject = word.map { index.name(of: $0) }
        switch verdict {
        case .exists: break
        case .newer: report(newer(subject, life, sender == .app ? .warning : .note))
        case .removed: report(removed(subject, life))
        case .deprecated: if sender == .app { report(deprecated(subject, life)) }
        }
    }

    /// The definition that the negotiated version has of a parameter, or the nearest to it.
    private func currentDefinition(of member: Int) -> Int {
        let now = index.members[member]
        guard now.redefined != 0, packedVersion != 0, packedVersion < now.redefined else {
            return member
        }
        let first = Int(now.firstEarlier)
        var best = member
        var bestSince: UInt32 = 0
        for earlier in first..<first + Int(now.earlierCount) {
            let since = index.members[earlier].life.since
            guard packedVersion >= since, best == member || since > bestSince else { continue }
            (best, bestSince) = (earlier, since)
        }
        return best
    }

    private func newer(
        _ subject: String?, _ life: CatalogueIndex.Life, _ severity: ValidationSeverity
    ) -> ValidationProblem {
        ValidationProblem(
            rule: .newerThanNegotiated, severity: severity, path: "", subject: subject,
            found: versionText,
            expected: Self.text(life.since))
    }

    private func removed(_ subject: String?, _ life: CatalogueIndex.Life) -> ValidationProblem {
        ValidationProblem(
            rule: .removed, severity: sender == .app ? .warning : .note, path: "", subject: subject,
            found: versionText, expected: Self.text(life.until))
    }

    private func deprecated(_ subject: String?, _ life: CatalogueIndex.Life) -> ValidationProblem {
        ValidationProblem(
            rule: .deprecated, severity: .note, path: "", subject: subject, found: versionText,
            expected: life.deprecated == 0 ? "" : Self.text(life.deprecated))
    }

    private var versionText: String { version.map { "RPC \($0.short)" } ?? "" }

    private static func text(_ packed: UInt32) -> String {
        SDLVersion(packed: packed).map { "RPC \($0.short)" } ?? ""
    }

    // MARK: Unknown parameters

    private mutating func unknownParameter(_ key: JSONToken, in group: Int) -> ValidationProblem {
        let name = text(of: key)
        let hint = nearest(to: name, in: group)
        let severity: ValidationSeverity
        switch (sender, hint) {
        case (.app, .some): severity = .error
        case (.app, nil): severity = isVehicleData ? .note : .warning
        case (.accessory, _): severity = .note
        }
        return ValidationProblem(
            rule: .unknownParameter, severity: severity, path: name, found: name,
            expected: "a parameter of RPC specification \(catalogue.version)", hint: hint)
    }

    mutating func nearest(to name: String, in group: Int) -> String? {
        guard hints < Self.maximumHints else { return nil }
        hints += 1
        let first = Int(index.groups[group].firstMember)
        let members = first..<first + Int(index.groups[group].memberCount)
        return Spelling.nearest(name, in: members.lazy.map { [index] in index.name(of: $0) })
    }

    private var isVehicleData: Bool {
        switch message.functionID {
        case .subscribeVehicleData, .unsubscribeVehicleData, .getVehicleData, .onVehicleData: true
        default: false
        }
    }
}
