/// The content of one version of the RPC specification, the built-in one or a user's own: every
/// function, parameter, struct and enumeration. Read by `RPCValidator`, and by whoever explains an
/// RPC to people.
public struct RPCCatalogue: Hashable, Sendable {
    public var version: SDLVersion
    /// As the specification writes it, "2021-10-27"; empty when it does not say.
    public var date: String
    /// Requests, responses and notifications, in the specification's order.
    public var functions: [RPCFunction]
    public var structs: [RPCStruct]
    public var enums: [RPCEnum]

    /// RPC specification 8.0.0, read at first use.
    public static let builtIn = readBuiltIn()

    /// Reads the built-in specification anew; `builtIn` does it once.
    public static func readBuiltIn() -> RPCCatalogue { RPCCatalogue(table: builtInTable) }

    public func function(_ id: FunctionID, _ type: RPCType) -> RPCFunction? {
        functions.first { $0.id == id && $0.type == type }
    }

    /// The specification's name of a function, whatever its type.
    public func name(of id: FunctionID) -> String? {
        functions.first { $0.id == id }?.name
    }

    public func id(of name: String) -> FunctionID? {
        functions.first { $0.name == name }?.id
    }

    public func structure(_ name: String) -> RPCStruct? {
        structs.first { $0.name == name }
    }

    public func enumeration(_ name: String) -> RPCEnum? {
        enums.first { $0.name == name }
    }
}

/// A request, response or notification.
public struct RPCFunction: Hashable, Sendable {
    public var name: String
    public var id: FunctionID
    public var type: RPCType
    public var lifetime: RPCLifetime
    public var parameters: [RPCParameter]
}

/// A JSON object with parameters of its own.
public struct RPCStruct: Hashable, Sendable {
    public var name: String
    public var lifetime: RPCLifetime
    public var parameters: [RPCParameter]
}

/// An enumeration: a set of words.
public struct RPCEnum: Hashable, Sendable {
    public struct Element: Hashable, Sendable {
        /// As it travels.
        public var name: String
        public var lifetime: RPCLifetime
    }

    public var name: String
    public var lifetime: RPCLifetime
    public var elements: [Element]
}

/// A parameter of a function, or a member of a struct.
public struct RPCParameter: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case boolean
        /// Also 64-bit ones.
        case integer
        case float
        case string
        /// The enumeration of this name.
        case enumeration(String)
        case structure(String)
    }

    public var name: String
    public var kind: Kind
    public var isMandatory: Bool
    /// The bounds of a number.
    public var value = RPCBounds<Double>()
    /// The length of a string, in Unicode scalars. The minimum is 1 where the specification says
    /// nothing, as in head units.
    public var length = RPCBounds<Int>()
    /// Nil for anything but an array.
    public var arraySize: RPCBounds<Int>?
    /// The values of its enumeration that this function uses; empty = all.
    public var values: [String] = []
    public var lifetime: RPCLifetime
    /// Since when it is defined like this; nil = since it exists.
    public var redefined: SDLVersion?
    /// How it was defined in earlier versions, each with the versions it was valid for.
    public var earlier: [RPCParameter] = []
}

/// The smallest and the largest that is allowed; nil = no bound.
public struct RPCBounds<Value: Hashable & Sendable>: Hashable, Sendable {
    public var minimum: Value?
    public var maximum: Value?
}

extension RPCParameter.Kind {
    /// The four types that need no definition; nil for names of structs and enumerations.
    init?(basicType name: String) {
        switch name {
        case "Boolean": self = .boolean
        case "Integer": self = .integer
        // Older specifications say Double.
        case "Float", "Double": self = .float
        case "String": self = .string
        default: return nil
        }
    }
}

extension RPCParameter {
    /// The fewest Unicode scalars of a string where the specification says nothing: sdl_core
    /// refuses empty strings then.
    static let defaultMinimumLength = 1

    /// Adds an earlier definition.
    mutating func add(earlier: RPCParameter) {
        if self.earlier.isEmpty { redefined = lifetime.since }
        lifetime.extend(toEarlier: earlier.lifetime)
        self.earlier.append(earlier)
    }
}
