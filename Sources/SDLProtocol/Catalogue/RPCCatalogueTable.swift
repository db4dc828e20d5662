// Reads the built-in catalogue from its table; `generate-catalogue` writes the table and
// explains its rows.

extension RPCCatalogue {
    /// - Precondition: The table is what the script wrote; a test compares it with what
    ///   `RPCSpecification` reads.
    init(table: StaticString) {
        var reader = TableReader()
        table.withUTF8Buffer { bytes in
            var start = 0
            while start < bytes.count {
                let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
                reader.read(row: TableRow(UnsafeBufferPointer(rebasing: bytes[start..<end])))
                start = end + 1
            }
        }
        self = reader.catalogue
    }
}

/// Puts rows together: members follow their owner, earlier definitions the entry they belong to.
private struct TableReader {
    private enum Owner {
        case enumeration
        case structure
        case function
    }

    private(set) var catalogue = RPCCatalogue(
        version: SDLVersion(0, 0, 0), date: "", functions: [], structs: [],
        enums: [])
    /// Enumerations come before everything that uses them.
    private var elementNames: [String: [String]] = [:]
    private var owner = Owner.enumeration
    private var hasMembers = false

    mutating func read(row: TableRow) {
        var row = row
        switch row.first {
        case UInt8(ascii: ":"):
            row.skip()
            hasMembers = true
            add(memberNamed: row.next(), &row)
        case UInt8(ascii: "<"):
            row.skip()
            addEarlier(&row)
        case UInt8(ascii: "E"):
            begin(.enumeration, &row)
            catalogue.enums.append(
                RPCEnum(name: row.next(), lifetime: row.lifetime(), elements: []))
        case UInt8(ascii: "S"):
            begin(.structure, &row)
            catalogue.structs.append(
                RPCStruct(name: row.next(), lifetime: row.lifetime(), parameters: []))
        case UInt8(ascii: "F"):
            begin(.function, &row)
            let (name, id, type) = (row.next(), UInt32(row.next()) ?? 0, row.next())
            catalogue.functions.append(
                RPCFunction(
                    name: name, id: FunctionID(rawValue: id),
                    type: RPCType(name: type) ?? .request, lifetime: row.lifetime(),
                    parameters: []))
        default:
            _ = row.next()
            catalogue.version = SDLVersion(text: row.next()) ?? catalogue.version
            catalogue.date = row.next()
        }
    }

    private mutating func begin(_ owner: Owner, _ row: inout TableRow) {
        self.owner = owner
        hasMembers = false
        _ = row.next()
    }

    private mutating func add(memberNamed name: String, _ row: inout TableRow) {
        switch owner {
        case .enumeration:
            let enumeration = catalogue.enums.count - 1
            catalogue.enums[enumeration].elements.append(
                RPCEnum.Element(name: name, lifetime: row.lifetime()))
            elementNames[catalogue.enums[enumeration].name, default: []].append(name)
        case .structure:
            let parameter = row.parameter(named: name, elementNames)
            catalogue.structs[catalogue.structs.count - 1].parameters.append(parameter)
        case .function:
            let parameter = row.parameter(named: name, elementNames)
            catalogue.functions[catalogue.functions.count - 1].parameters.append(parameter)
        }
    }

    private mutating func addEarlier(_ row: inout TableRow) {
        switch (owner, hasMembers) {
        case (.enumeration, false):
            let last = catalogue.enums.count - 1
            catalogue.enums[last].lifetime.extend(toEarlier: row.lifetime())
        case (.structure, false):
            let last = catalogue.structs.count - 1
            catalogue.structs[last].lifetime.extend(toEarlier: row.lifetime())
        case (.function, false):
            let last = catalogue.functions.count - 1
            catalogue.functions[last].lifetime.extend(toEarlier: row.lifetime())
        case (.enumeration, true):
            let last = catalogue.enums.count - 1
            let element = catalogue.enums[last].elements.count - 1
            catalogue.enums[last].elements[element].lifetime.extend(toEarlier: row.lifetime())
        case (.structure, true):
            let last = catalogue.structs.count - 1
            let member = catalogue.structs[last].parameters.count - 1
            let name = catalogue.structs[last].parameters[member].name
            catalogue.structs[last].parameters[member].add(
                earlier: row.parameter(named: name, elementNames))
        case (.function, true):
            let last = catalogue.functions.count - 1
            let member = catalogue.functions[last].parameters.count - 1
            let name = catalogue.functions[last].parameters[member].name
            catalogue.functions[last].parameters[member].add(
                earlier: row.parameter(named: name, elementNames))
        }
    }
}

/// Fields separated by one space.
private struct TableRow {
    private var bytes: Slice<UnsafeBufferPointer<UInt8>>

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes[...]
    }

    var first: UInt8? { bytes.first }

    /// Skips the byte that tells what the row is.
    mutating func skip() {
        bytes = bytes.dropFirst()
    }

    private mutating func field() -> Slice<UnsafeBufferPointer<UInt8>> {
        let end = bytes.firstIndex(of: UInt8(ascii: " ")) ?? bytes.endIndex
        defer { bytes = bytes[end...].dropFirst() }
        return bytes[..<end]
    }

    mutating func next() -> String {
        String(decoding: field(), as: UTF8.self)
    }

    /// Everything up to the end of the row.
    mutating func lifetime() -> RPCLifetime {
        var life = StatedLifetime()
        while !bytes.isEmpty { life.read(field()) }
        return life.lifetime
    }

    mutating func parameter(
        named name: String, _ elementNames: [String: [String]]
    ) -> RPCParameter {
        var type = field()
        let isMandatory = type.last == UInt8(ascii: "!")
        if isMandatory { type = type.dropLast() }
        let typeName = String(decoding: type, as: UTF8.self)
        let kind =
            RPCParameter.Kind(basicType: typeName)
            ?? (elementNames[typeName] == nil ? .structure(typeName) : .enumeration(typeName))
        var parameter = RPCParameter(
            name: name, kind: kind, isMandatory: isMandatory, lifetime: RPCLifetime())
        if kind == .string { parameter.length.minimum = RPCParameter.defaultMinimumLength }
        var life = StatedLifetime()
        while !bytes.isEmpty {
            let field = field()
            switch field.first {
            case UInt8(ascii: "v"): parameter.value = Self.bounds(field.dropFirst()) { Double($0) }
            case UInt8(ascii: "l"):
                let length = Self.bounds(field.dropFirst()) { Int($0) }
                parameter.length.minimum = length.minimum ?? parameter.length.minimum
                parameter.length.maximum = length.maximum
            case UInt8(ascii: "a"):
                parameter.arraySize = Self.bounds(field.dropFirst()) { Int($0) }
            case UInt8(ascii: "="):
                let names = elementNames[typeName] ?? []
                parameter.values = field.dropFirst().split(separator: UInt8(ascii: ",")).compactMap
                {
                    Int(String(decoding: $0, as: UTF8.self)).map { names[$0] }
                }
            default: life.read(field)
            }
        }
        parameter.lifetime = life.lifetime
        return parameter
    }

    /// "0..100", "..499", "1..", "..".
    private static func bounds<Value: Hashable & Sendable>(
        _ field: Slice<UnsafeBufferPointer<UInt8>>, _ read: (String) -> Value?
    ) -> RPCBounds<Value> {
        let dot = UInt8(ascii: ".")
        guard
            let dots = field.indices.first(where: {
                field[$0] == dot && $0 + 1 < field.endIndex && field[$0 + 1] == dot
            })
        else { return RPCBounds() }
        return RPCBounds(
            minimum: read(String(decoding: field[..<dots], as: UTF8.self)),
            maximum: read(String(decoding: field[(dots + 2)...], as: UTF8.self)))
    }
}

/// "+5.0", "-7.0", "~" in any order.
private struct StatedLifetime {
    private var since: SDLVersion?
    private var until: SDLVersion?
    private var isDeprecated = false

    mutating func read(_ field: Slice<UnsafeBufferPointer<UInt8>>) {
        let version = { SDLVersion(text: String(decoding: field.dropFirst(), as: UTF8.self)) }
        switch field.first {
        case UInt8(ascii: "+"): since = version()
        case UInt8(ascii: "-"): until = version()
        default: isDeprecated = true
        }
    }

    var lifetime: RPCLifetime {
        RPCLifetime(statedSince: since, until: until, isDeprecated: isDeprecated)
    }
}
