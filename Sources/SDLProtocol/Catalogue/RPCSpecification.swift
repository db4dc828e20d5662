// Reads a user's RPC specification, an XML file like MOBILE_API.xml, into a catalogue; called by the
// daemon at start. `generate-catalogue` treats every construct the same way.

import DidYouMean

/// Why a file is not an RPC specification.
public struct RPCSpecificationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// From 1.
    public var line: Int
    /// Found and expected, in one clause.
    public var reason: String

    public var description: String { "line \(line): \(reason)" }
}

extension RPCCatalogue {
    /// Bytes a specification may have: some thirty times what 8.0.0 has.
    public static let maximumXMLBytes = 16 << 20

    /// Reads the XML of a specification. Documentation, and elements nobody defined, are skipped.
    public init(xml: [UInt8]) throws(RPCSpecificationError) {
        guard xml.count <= Self.maximumXMLBytes else {
            throw RPCSpecificationError(
                line: 1, reason: "\(xml.count) bytes, expected at most \(Self.maximumXMLBytes)")
        }
        var reader = SpecificationReader()
        do {
            var document = try XMLReader(xml)
            while true {
                guard let event = try document.next() else { break }
                try reader.receive(event, line: document.tagLine)
            }
        } catch let error as XMLError {
            throw RPCSpecificationError(line: error.line, reason: error.reason)
        } catch let error as RPCSpecificationError {
            throw error
        } catch {
            throw RPCSpecificationError(line: 1, reason: "\(error)")
        }
        self = try reader.finish()
    }
}

/// Follows the document and collects its definitions; types are looked up at the end, because
/// definitions may stand in any order.
private struct SpecificationReader {
    /// Functions, structs, enumerations, and everything in them: some thirty times what 8.0.0 has.
    static let maximumItems = 60_000
    /// Mandatory parameters of one function or struct; real ones have at most 15.
    static let maximumMandatory = 64

    private struct Parameter {
        var stated: RPCParameter
        var typeName: String
        var usedElements: [String] = []
        var line: Int
    }

    private struct Item {
        enum Tag: String {
            case enumeration = "enum"
            case structure = "struct"
            case function
        }

        var tag: Tag
        var name: String
        var lifetime: RPCLifetime
        var line: Int
        var elements: [RPCEnum.Element] = []
        /// Number by element, for FunctionID.
        var numbers: [String: UInt32] = [:]
        var parameters: [(now: Parameter, earlier: [Parameter])] = []
        var names: Set<String> = []
        var functionID = ""
        var type = RPCType.request
    }

    private var version: SDLVersion?
    private var date = ""
    private var items: [Item] = []
    private var count = 0
    /// Open elements below the root.
    private var path: [String] = []
    /// How many open elements, from here on, are skipped.
    private var skipped = 0

    mutating func receive(_ event: XMLReader.Event, line: Int) throws(RPCSpecificationError) {
        switch event {
        case .start(let name, let attributes):
            if skipped > 0 {
                skipped += 1
            } else if version == nil {
                try begin(root: name, attributes, line)
            } else {
                try begin(name, SpecificationAttributes(tag: name, values: attributes, line: line))
            }
        case .end:
            if skipped > 0 {
                skipped -= 1
            } else {
                _ = path.popLast()
            }
        }
    }

    private mutating func begin(
        root name: String, _ attributes: [String: String], _ line: Int
    ) throws(RPCSpecificationError) {
        guard name == "interface" else {
            throw RPCSpecificationError(
                line: line,
                reason: "the root is <\(name)>, expected <interface> as in MOBILE_API.xml")
        }
        let text = attributes["version"] ?? ""
        guard let version = SDLVersion(text: text) else {
            throw RPCSpecificationError(
                line: line,
                reason: "<interface> has version \"\(text)\", expected one such as \"8.0.0\"")
        }
        self.version = version
        date = attributes["date"] ?? ""
    }

    /// Reads one element below the root. An element that is not expected there is skipped with all
    /// in it.
    private mutating func begin(
        _ name: String, _ attributes: SpecificationAttributes
    ) throws(RPCSpecificationError) {
        count += 1
        guard count <= Self.maximumItems else {
            throw attributes.error("more than \(Self.maximumItems) elements")
        }
        switch (path.count, name) {
        case (0, "enum"), (0, "struct"), (0, "function"):
            try begin(item: Item.Tag(rawValue: name) ?? .function, attributes)
        case (1, "element") where path[0] == "enum": try add(element: attributes)
        case (1, "param") where path[0] != "enum":
            let parameter = try self.parameter(attributes)
            let item = items.count - 1
            try attributes.check(items[item].names.insert(parameter.stated.name).inserted)
            items[item].parameters.append((parameter, []))
        case (2, "element") where path[1] == "param": try use(element: attributes)
        case (1, "history"), (2, "history"): break
        case (2, _) where path[1] == "history" && name == path[0]:
            items[items.count - 1].lifetime.extend(toEarlier: try attributes.lifetime())
        case (3, _) where path[2] == "history" && name == path[1]:
            try addEarlier(name, attributes)
        default:
            skipped = 1
            return
        }
        path.append(name)
    }

    private mutating func begin(
        item tag: Item.Tag, _ attributes: SpecificationAttributes
    ) throws(RPCSpecificationError) {
        var item = Item(
            tag: tag, name: try attributes.name(), lifetime: try attributes.lifetime(),
            line: attributes.line)
        if tag == .function {
            item.functionID = try attributes.required("functionID")
            let type = try attributes.required("messagetype")
            guard let known = RPCType(name: type) else {
                throw attributes.error(
                    "messagetype \"\(type)\", expected request, response or notification")
            }
            item.type = known
        }
        items.append(item)
    }

    private mutating func add(element attributes: SpecificationAttributes)
        throws(RPCSpecificationError)
    {
        let item = items.count - 1
        let name = try attributes.name()
        try attributes.check(items[item].names.insert(name).inserted)
        items[item].elements.append(
            RPCEnum.Element(name: name, lifetime: try attributes.lifetime()))
        if items[item].name == "FunctionID",
            let text = attributes["value"] ?? attributes["internal_value"]
        {
            guard let number = UInt32(text), number <= 0x0FFF_FFFF else {
                throw attributes.error("value \"\(text)\", expected a number below 268435456")
            }
            items[item].numbers[name] = number
        }
    }

    private mutating func use(element attributes: SpecificationAttributes)
        throws(RPCSpecificationError)
    {
        let item = items.count - 1
        let parameter = items[item].parameters.count - 1
        items[item].parameters[parameter].now.usedElements.append(try attributes.name())
    }

    /// Adds an earlier definition, if it has the name of the entry whose history it is in.
    private mutating func addEarlier(
        _ tag: String, _ attributes: SpecificationAttributes
    ) throws(RPCSpecificationError) {
        let item = items.count - 1
        let name = try attributes.name()
        if tag == "element" {
            let element = items[item].elements.count - 1
            guard items[item].elements[element].name == name else { return }
            items[item].elements[element].lifetime.extend(toEarlier: try attributes.lifetime())
        } else {
            let parameter = items[item].parameters.count - 1
            guard items[item].parameters[parameter].now.stated.name == name else { return }
            items[item].parameters[parameter].earlier.append(try self.parameter(attributes))
        }
    }

    private func parameter(_ attributes: SpecificationAttributes) throws(RPCSpecificationError)
        -> Parameter
    {
        let typeName = try attributes.required("type")
        var stated = RPCParameter(
            name: try attributes.name(),
            kind: RPCParameter.Kind(basicType: typeName) ?? .structure(typeName),
            isMandatory: try attributes.bool("mandatory", default: true),
            lifetime: try attributes.lifetime())
        switch stated.kind {
        case .integer, .float:
            stated.value = RPCBounds(
                minimum: try attributes.number("minvalue"),
                maximum: try attributes.number("maxvalue"))
        case .string:
            stated.length = RPCBounds(
                minimum: try attributes.size("minlength") ?? RPCParameter.defaultMinimumLength,
                maximum: try attributes.size("maxlength"))
        case .boolean, .enumeration, .structure: break
        }
        if try attributes.bool("array", default: false) {
            stated.arraySize = RPCBounds(
                minimum: try attributes.size("minsize"), maximum: try attributes.size("maxsize"))
        }
        return Parameter(stated: stated, typeName: typeName, line: attributes.line)
    }

    // MARK: Looking up

    func finish() throws(RPCSpecificationError) -> RPCCatalogue {
        guard let version else {
            throw RPCSpecificationError(line: 1, reason: "no <interface>")
        }
        var catalogue = RPCCatalogue(
            version: version, date: date, functions: [], structs: [], enums: [])
        var elements: [String: [String]] = [:]
        var structs: Set<String> = []
        var numbers: [String: UInt32] = [:]
        for item in items where item.tag != .function {
            guard elements[item.name] == nil, !structs.contains(item.name),
                RPCParameter.Kind(basicType: item.name) == nil
            else {
                throw RPCSpecificationError(
                    line: item.line, reason: "\(item.name) is defined already")
            }
            if item.tag == .structure {
                structs.insert(item.name)
            } else {
                elements[item.name] = item.elements.map(\.name)
                if item.name == "FunctionID" { numbers = item.numbers }
            }
        }
        var functions: Set<FunctionKey> = []
        for item in items {
            let parameters = try item.parameters.map {
                (parameter) throws(RPCSpecificationError) -> RPCParameter in
                try Self.resolve(parameter.now, parameter.earlier, elements, structs)
            }
            try Self.checkMandatory(parameters, item)
            switch item.tag {
            case .enumeration:
                catalogue.enums.append(
                    RPCEnum(name: item.name, lifetime: item.lifetime, elements: item.elements))
            case .structure:
                catalogue.structs.append(
                    RPCStruct(name: item.name, lifetime: item.lifetime, parameters: parameters))
            case .function:
                guard let number = numbers[item.functionID] else {
                    throw RPCSpecificationError(
                        line: item.line,
                        reason: "functionID \(item.functionID) of \(item.name) is not an element "
                            + "of the enumeration FunctionID, or has no value there")
                }
                guard functions.insert(FunctionKey(number: number, type: item.type)).inserted else {
                    throw RPCSpecificationError(
                        line: item.line,
                        reason: "there is a \(item.type.name) with functionID "
                            + "\(item.functionID) already")
                }
                catalogue.functions.append(
                    RPCFunction(
                        name: item.name, id: FunctionID(rawValue: number), type: item.type,
                        lifetime: item.lifetime, parameters: parameters))
            }
        }
        guard !catalogue.functions.isEmpty else {
            throw RPCSpecificationError(line: 1, reason: "no <function> in <interface>")
        }
        return catalogue
    }

    private struct FunctionKey: Hashable {
        var number: UInt32
        var type: RPCType
    }

    private static func checkMandatory(
        _ parameters: [RPCParameter], _ item: Item
    ) throws(RPCSpecificationError) {
        let count = parameters.count { $0.isMandatory || $0.earlier.contains(where: \.isMandatory) }
        guard count <= maximumMandatory else {
            throw RPCSpecificationError(
                line: item.line,
                reason: "\(item.name) has \(count) mandatory parameters, expected at most "
                    + "\(maximumMandatory)")
        }
    }

    private static func resolve(
        _ now: Parameter, _ earlier: [Parameter], _ elements: [String: [String]],
        _ structs: Set<String>
    ) throws(RPCSpecificationError) -> RPCParameter {
        var parameter = now.stated
        if case .structure = parameter.kind {
            if let names = elements[now.typeName] {
                parameter.kind = .enumeration(now.typeName)
                for name in now.usedElements where !names.contains(name) {
                    throw RPCSpecificationError(
                        line: now.line,
                        reason: "parameter \(parameter.name) uses \(name), which is not an element "
                            + "of \(now.typeName)")
                }
                parameter.values = now.usedElements
            } else if !structs.contains(now.typeName) {
                let hint = Spelling.nearest(
                    now.typeName, in: Array(elements.keys) + Array(structs))
                throw RPCSpecificationError(
                    line: now.line,
                    reason: "type \(now.typeName) of parameter \(parameter.name) is not defined"
                        + (hint.map { "; did you mean \($0)?" } ?? ""))
            }
        }
        for old in earlier {
            parameter.add(earlier: try resolve(old, [], elements, structs))
        }
        return parameter
    }
}
