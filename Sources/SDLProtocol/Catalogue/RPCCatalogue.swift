/// The content of one version of the RPC specification, the built-in one or a user's own: every
/// function, parameter, struct and enumeration. Read by `RPCValidator`, and by whoever explains an
/// RPC to people.
package struct RPCCatalogue: Hashable, Sendable {
    package var version: SDLVersion
    /// As the specification writes it, "2021-10-27"; empty when it does not say.
    package var date: String
    /// Requests, responses and notifications, in the specification's order.
    package var functions: [RPCFunction]
    package var structs: [RPCStruct]
    package var enums: [RPCEnum]

    /// RPC specification 8.0.0, read at first use.
    package static let builtIn = readBuiltIn()

    /// Reads the built-in specification anew; `builtIn` does it once.
    package static func readBuiltIn() -> RPCCatalogue { RPCCatalogue(table: builtInTable) }

    package func function(_ id: FunctionID, _ type: RPCType) -> RPCFunction? {
        functions.first { $0.id == id && $0.type == type }
    }

    /// The specification's name of a function, whatever its type.
    package func name(of id: FunctionID) -> String? {
        functions.first { $0.id == id }?.name
    }

    package func id(of name: String) -> FunctionID? {
        functions.first { $0.name == name }?.id
    }

    package func structure(_ name: String) -> RPCStruct? {
        structs.first { $0.name == name }
    }

    package func enumeration(_ name: String) -> RPCEnum? {
        enums.first { $0.name == name }
    }
}

/// A request, response or notification.
package struct RPCFunction: Hashable, Sendable {
    package var name: String
    package var id: FunctionID
    package var type: RPCType
    package var lifetime: RPCLifetime
    package var parameters: [RPCParameter]
}

/// A JSON object with parameters of its own.
package struct RPCStruct: Hashable, Sendable {
    package var name: String
    package var lifetime: RPCLifetime
    package var parameters: [RPCParameter]
}

/// An enumeration: a set of words.
package struct RPCEnum: Hashable, Sendable {
    package struct Element: Hashable, Sendable {
        /// As it travels.
        package var name: String
        package var lifetime: RPCLifetime
    }

    package var name: String
    package var lifetime: RPCLifetime
    package var elements: [Element]
}

/// A parameter of a function, or a member of a struct.
package struct RPCParameter: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case boolean
        /// Also 64-bit ones.
        case integer
        case float
        case string
        /// The enumeration of this name.
        case enumeration(String)
        case structure(String)
    }

    package var name: String
    package var kind: Kind
    package var isMandatory: Bool
    /// The bounds of a number.
    package var value = RPCBounds<Double>()
    /// The length of a string, in Unicode scalars. The minimum is 1 where the specification says
    /// nothing, as in head units.
    package var length = RPCBounds<Int>()
    /// Nil for anything but an array.
    package var arraySize: RPCBounds<Int>?
    /// The values of its enumeration that this function uses; empty = all.
    package var values: [String] = []
    package var lifetime: RPCLifetime
    /// Since when it is defined like this; nil = since it exists.
    package var redefined: SDLVersion?
    /// How it was defined in earlier versions, each with the versions it was valid for.
    package var earlier: [RPCParameter] = []
}

/// The smallest and the largest that is allowed; nil = no bound.
package struct RPCBounds<Value: Hashable & Sendable>: Hashable, Sendable {
    package var minimum: Value?
    package var maximum: Value?
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
