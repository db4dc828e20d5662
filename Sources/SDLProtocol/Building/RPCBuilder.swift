// Builds an RPC from what a user wrote, by the specification in force, to be sent in place of an app or
// a head unit. Values only.

import DidYouMean
import NIOCore

/// An RPC that may be sent.
public struct BuiltRPC: Hashable, Sendable {
    public var function: FunctionID
    /// As the specification calls it, or the number.
    public var name: String
    public var type: RPCType
    public var json: String
    /// Problems worth noting that do not keep the RPC from being sent.
    public var remarks: [ValidationProblem]
}

public struct RPCBuilder: Sendable {
    /// The RPC that is wanted.
    public struct Order: Sendable {
        /// A name of the specification; if unchecked, also a number such as 0x8001.
        public var name: String
        /// If nil, the request of that name, or else the notification.
        public var type: RPCType?
        /// Whole parameters; assignments are added to them.
        public var parameters: JSONObject?
        public var assignments: [RPCAssignment]
        /// Whether to skip the comparison with the specification.
        public var isUnchecked: Bool

        public init(
            _ name: String, type: RPCType? = nil, parameters: JSONObject? = nil,
            assignments: [RPCAssignment] = [], isUnchecked: Bool = false
        ) {
            self.name = name
            self.type = type
            self.parameters = parameters
            self.assignments = assignments
            self.isUnchecked = isUnchecked
        }
    }

    private let validator: RPCValidator
    private var catalogue: RPCCatalogue { validator.catalogue }

    public init(_ validator: RPCValidator) {
        self.validator = validator
    }

    /// - Parameters:
    ///   - sender: In whose place the RPC is sent.
    ///   - negotiated: The version of the RPC specification that the session speaks; nil when unknown.
    public func build(
        _ order: Order, from sender: RPCSender, negotiated: SDLVersion? = nil
    ) throws(RPCBuildError) -> BuiltRPC {
        let function = try find(order)
        var value = RPCValue.emptyObject
        if let parameters = order.parameters {
            guard let given = RPCValue(parameters) else {
                throw RPCBuildError(
                    "the parameters have more than \(JSONObject.maximumMembers - 1) members in one object, "
                        + "or a longer array than any RPC has")
            }
            value = given
        }
        for assignment in order.assignments {
            let type = try Self.type(
                of: assignment.path, in: function.definition, catalogue,
                isUnchecked: order.isUnchecked)
            let new = try Self.value(of: assignment, type, isUnchecked: order.isUnchecked)
            guard value.set(assignment.path.steps[...], to: new) else {
                throw RPCBuildError(
                    "\(RPCBuildError.shown("\(assignment.path)")) does not fit what was given before; an "
                        + "array is filled from [0] on without gaps, and nothing lies inside a single value"
                )
            }
        }
        var built = BuiltRPC(
            function: function.id, name: function.name, type: function.type, json: value.json,
            remarks: [])
        guard !order.isUnchecked else { return built }
        built.remarks = try check(built, from: sender, negotiated)
        return built
    }

    // MARK: - Which RPC

    fileprivate struct Found {
        var id: FunctionID
        var name: String
        var type: RPCType
        var definition: RPCFunction?
    }

    private func find(_ order: Order) throws(RPCBuildError) -> Found {
        let named = catalogue.functions.filter { $0.name == order.name }
        // Requests come first, whatever the order of the specification.
        let types = order.type.map { [$0] } ?? [.request, .notification]
        for type in types {
            guard let function = named.first(where: { $0.type == type }) else { continue }
            return Found(id: function.id, name: function.name, type: type, definition: function)
        }
        let type = order.type ?? .request
        if order.isUnchecked {
            if let id = named.first?.id {
                return Found(id: id, name: order.name, type: type, definition: nil)
            }
            if let id = Self.number(order.name) {
                return Found(
                    id: FunctionID(rawValue: id), name: order.name, type: type, definition: nil)
            }
        }
        let kinds = types.map(\.name).joined(separator: " or ")
        let known = catalogue.functions.filter { types.contains($0.type) }.map(\.name)
        let exact = known.first { $0.lowercased() == order.name.lowercased() }
        let hint = (exact ?? Spelling.nearest(order.name, in: known)).map {
            "; did you mean \($0)?"
        }
        throw RPCBuildError(
            "\(RPCBuildError.shown(order.name)) is no \(kinds) of RPC specification \(catalogue.version)"
                + (hint ?? "")
                + (order.isUnchecked
                    ? "; unchecked, a number such as 0x8001 stands for any function" : ""))
    }

    /// 28 bits, decimal or after 0x hexadecimal.
    private static func number(_ text: String) -> UInt32? {
        let number =
            text.hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text)
        return number.flatMap { $0 <= 0x0FFF_FFFF ? $0 : nil }
    }

    // MARK: - Types

    /// What the specification says about a place in the parameters.
    fileprivate struct Place {
        var kind: RPCParameter.Kind
        /// The place is the whole array.
        var isArray: Bool
    }

    /// - Returns: Nil when the specification does not know the place, and need not.
    private static func type(
        of path: RPCPath, in function: RPCFunction?, _ catalogue: RPCCatalogue, isUnchecked: Bool
    ) throws(RPCBuildError) -> Place? {
        guard let function else { return nil }
        var members = function.parameters
        var owner = function.name
        var place: Place?
        for (index, step) in path.steps.enumerated() {
            let before = RPCBuildError.shown(RPCPath.text(path.steps[..<index]))
            switch step {
            case .name(let name):
                if let outer = place {
                    guard !outer.isArray, case .structure(let type) = outer.kind,
                        let structure = catalogue.structure(type)
                    else {
                        if isUnchecked { return nil }
                        throw RPCBuildError(
                            outer.isArray
                                ? "\(before) is an array; expected an index, such as \(before)[0].\(RPCBuildError.shown(name))"
                                : "\(before) is \(outer.kind.inWords) and has no parameters of its own"
                        )
                    }
                    (members, owner) = (structure.parameters, "\(before) (\(type))")
                }
                guard let parameter = members.first(where: { $0.name == name }) else {
                    if isUnchecked || function.isOfVehicleData { return nil }
                    throw RPCBuildError(unknown(name, of: owner, members))
                }
                place = Place(kind: parameter.kind, isArray: parameter.arraySize != nil)
            case .index:
                guard place?.isArray == true else {
                    if isUnchecked { return nil }
                    throw RPCBuildError("\(before) is not an array; expected no index")
                }
                place?.isArray = false
            }
        }
        return place
    }

    private static func unknown(_ name: String, of owner: String, _ members: [RPCParameter])
        -> String
    {
        let names = members.map(\.name)
        let hint = Spelling.nearest(name, in: names).map { ", did you mean \($0)?" }
        let all = names.isEmpty ? "; it has none" : "; known: " + names.joined(separator: ", ")
        return "unknown parameter \(RPCBuildError.shown(name)) of \(owner)" + (hint ?? all)
    }

    // MARK: - Values

    private static func shown(_ path: RPCPath) -> String { RPCBuildError.shown("\(path)") }

    private static func value(
        of assignment: RPCAssignment, _ place: Place?, isUnchecked: Bool
    ) throws(RPCBuildError) -> RPCValue {
        switch assignment.value {
        case .json(let text):
            do {
                return try RPCValue(json: text)
            } catch {
                throw RPCBuildError(
                    "the value of \(Self.shown(assignment.path)) is not JSON: \(error)")
            }
        case .text(let text):
            guard let place else { return guessed(text) }
            if let value = read(text, place) { return value }
            if isUnchecked { return guessed(text) }
            let found = text.isEmpty ? "empty" : "\"\(RPCBuildError.shown(text))\""
            throw RPCBuildError(
                "\(Self.shown(assignment.path)) is \(found), expected \(place.expected)")
        }
    }

    /// - Returns: Nil when the text is no value of that type.
    private static func read(_ text: String, _ place: Place) -> RPCValue? {
        if place.isArray || place.kind.isStructure {
            let opening: Character = place.isArray ? "[" : "{"
            guard text.first == opening else { return nil }
            return try? RPCValue(json: text)
        }
        switch place.kind {
        case .string, .enumeration: return .string(text)
        case .boolean:
            return text == "true" ? .bool(true) : text == "false" ? .bool(false) : nil
        case .integer, .float:
            guard case .number(let number)? = try? RPCValue(json: text) else { return nil }
            return .number(number)
        case .structure: return nil
        }
    }

    /// The value of a parameter that no specification knows, guessed from its text.
    private static func guessed(_ text: String) -> RPCValue {
        switch try? RPCValue(json: text) {
        case .string?, nil: .string(text)
        case let value?: value
        }
    }

    // MARK: - The whole

    /// - Returns: Problems that do not keep the RPC from being sent.
    private func check(
        _ built: BuiltRPC, from sender: RPCSender, _ negotiated: SDLVersion?
    ) throws(RPCBuildError) -> [ValidationProblem] {
        let object: JSONObject
        do {
            object = try JSONObject(ByteBuffer(string: built.json))
        } catch {
            throw RPCBuildError("the parameters are not JSON: \(error)")
        }
        var message = RPCMessage(request: built.function, parameters: object)
        message.type = built.type
        let problems = validator.problems(in: message, from: sender, negotiated: negotiated)
        let isVehicleData = catalogue.function(built.function, built.type)?.isOfVehicleData ?? false
        let wrong = problems.filter { !Self.isTolerable($0, isVehicleData: isVehicleData) }
        guard !wrong.isEmpty else { return problems }
        let found = wrong.map { problem in
            RPCBuildError.Problem(
                path: problem.path, text: "\(problem)" + (allowed(problem, in: built) ?? ""))
        }
        let text = found.map(\.text).joined(separator: "; ")
        throw RPCBuildError("\(built.name): \(text)", found)
    }

    /// Whether the problem concerns the receiver rather than the message.
    private static func isTolerable(_ problem: ValidationProblem, isVehicleData: Bool) -> Bool {
        switch problem.rule {
        case .deprecated, .newerThanNegotiated, .removed: true
        case .unknownParameter: isVehicleData
        default: false
        }
    }

    /// The words of a large enumeration, of which the problem tells only the number.
    private func allowed(_ problem: ValidationProblem, in built: BuiltRPC) -> String? {
        guard problem.rule == .unknownValue || problem.rule == .missingMandatory,
            let path = RPCPath(problem.path),
            let place =
                (try? Self.type(
                    of: path, in: catalogue.function(built.function, built.type), catalogue,
                    isUnchecked: true)),
            case .enumeration(let name) = place.kind,
            let enumeration = catalogue.enumeration(name)
        else {
            return problem.rule == .missingMandatory ? ", expected \(problem.expected)" : nil
        }
        let words = enumeration.elements.map(\.name)
        let shown = words.prefix(Self.maximumWords).joined(separator: ", ")
        let more = words.count - Self.maximumWords
        return "; \(name) has \(shown)" + (more > 0 ? " and \(more) more" : "")
    }

    /// The most words of an enumeration that are listed.
    private static let maximumWords = 60
}

extension RPCBuilder.Place {
    /// What the text of a value has to be.
    fileprivate var expected: String {
        if isArray {
            return "an array: JSON such as [], or one element at a time with [0], [1], …"
        }
        return switch kind {
        case .boolean: "true or false"
        case .integer: "an Integer"
        case .float: "a Float"
        case .string: "a String"
        case .enumeration(let name): "a value of \(name)"
        case .structure(let name):
            "a struct \(name): JSON such as {}, or one member at a time with .NAME"
        }
    }
}

extension RPCParameter.Kind {
    fileprivate var isStructure: Bool {
        if case .structure = self { true } else { false }
    }

    fileprivate var inWords: String {
        switch self {
        case .boolean: "a Boolean"
        case .integer: "an Integer"
        case .float: "a Float"
        case .string: "a String"
        case .enumeration(let name): "a value of \(name)"
        case .structure(let name): "a struct \(name)"
        }
    }
}

extension RPCFunction {
    /// Whether the parameters may be the car maker's own, which no specification knows.
    fileprivate var isOfVehicleData: Bool {
        switch id {
        case .subscribeVehicleData, .unsubscribeVehicleData, .getVehicleData, .onVehicleData: true
        default: false
        }
    }
}
