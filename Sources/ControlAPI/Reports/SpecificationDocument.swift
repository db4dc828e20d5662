/// The RPC specification in force, with which sent messages and the traffic are compared: the answer to
/// `GET /v1/specification`.
package struct SpecificationDocument: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Its version, e.g. "8.0.0".
    package var version: String
    /// As written in the specification; left out when it gives none.
    package var date: String?
    /// The file it comes from; left out for the built-in one.
    package var file: String?
    /// Requests, responses and notifications, in the specification's order.
    package var functions: [SpecificationFunction]
    package var structs: [SpecificationStruct]
    package var enums: [SpecificationEnum]

    package init(
        version: String, date: String? = nil, file: String? = nil,
        functions: [SpecificationFunction], structs: [SpecificationStruct],
        enums: [SpecificationEnum]
    ) {
        (self.version, self.date, self.file) = (version, date, file)
        (self.functions, self.structs, self.enums) = (functions, structs, enums)
    }
}

/// A request, response or notification.
package struct SpecificationFunction: Codable, Sendable, Equatable {
    package var name: String
    /// Its number on the wire.
    package var id: Int
    /// "request", "response" or "notification".
    package var type: String
    /// The first version that has it; left out when it is as old as its parent.
    package var since: String?
    /// The first version that no longer has it; left out while it exists.
    package var until: String?
    /// True, or left out.
    package var deprecated: Bool?
    package var parameters: [SpecificationParameter]

    package init(
        name: String, id: Int, type: String, since: String? = nil, until: String? = nil,
        deprecated: Bool? = nil, parameters: [SpecificationParameter]
    ) {
        (self.name, self.id, self.type) = (name, id, type)
        (self.since, self.until, self.deprecated) = (since, until, deprecated)
        self.parameters = parameters
    }
}

/// A JSON object with parameters of its own.
package struct SpecificationStruct: Codable, Sendable, Equatable {
    package var name: String
    package var since: String?
    package var until: String?
    package var deprecated: Bool?
    package var parameters: [SpecificationParameter]

    package init(
        name: String, since: String? = nil, until: String? = nil, deprecated: Bool? = nil,
        parameters: [SpecificationParameter]
    ) {
        (self.name, self.since, self.until, self.deprecated) = (name, since, until, deprecated)
        self.parameters = parameters
    }
}

/// An enumeration.
package struct SpecificationEnum: Codable, Sendable, Equatable {
    package var name: String
    package var since: String?
    package var until: String?
    package var deprecated: Bool?
    package var elements: [SpecificationElement]

    package init(
        name: String, since: String? = nil, until: String? = nil, deprecated: Bool? = nil,
        elements: [SpecificationElement]
    ) {
        (self.name, self.since, self.until, self.deprecated) = (name, since, until, deprecated)
        self.elements = elements
    }
}

/// A value of an enumeration.
package struct SpecificationElement: Codable, Sendable, Equatable {
    /// As it is sent.
    package var name: String
    package var since: String?
    package var until: String?
    package var deprecated: Bool?

    package init(
        name: String, since: String? = nil, until: String? = nil, deprecated: Bool? = nil
    ) {
        (self.name, self.since, self.until, self.deprecated) = (name, since, until, deprecated)
    }
}

/// A parameter of a function, or a member of a struct.
package struct SpecificationParameter: Codable, Sendable, Equatable {
    package var name: String
    /// "Boolean", "Integer", "Float", "String", or the name of an enumeration or a struct.
    package var type: String
    package var mandatory: Bool
    /// Whether it is an array of this type.
    package var array: Bool
    /// For an array: number of elements.
    package var minSize: Int?
    package var maxSize: Int?
    /// For numbers.
    package var minValue: Double?
    package var maxValue: Double?
    /// For texts: number of Unicode scalars.
    package var minLength: Int?
    package var maxLength: Int?
    /// The values of its enumeration that are used here; left out for all.
    package var values: [String]?
    package var since: String?
    package var until: String?
    package var deprecated: Bool?

    package init(
        name: String, type: String, mandatory: Bool, array: Bool, minSize: Int? = nil,
        maxSize: Int? = nil, minValue: Double? = nil, maxValue: Double? = nil,
        minLength: Int? = nil, maxLength: Int? = nil, values: [String]? = nil,
        since: String? = nil, until: String? = nil, deprecated: Bool? = nil
    ) {
        (self.name, self.type, self.mandatory, self.array) = (name, type, mandatory, array)
        (self.minSize, self.maxSize) = (minSize, maxSize)
        (self.minValue, self.maxValue) = (minValue, maxValue)
        (self.minLength, self.maxLength) = (minLength, maxLength)
        self.values = values
        (self.since, self.until, self.deprecated) = (since, until, deprecated)
    }

    enum CodingKeys: String, CodingKey {
        case name, type, mandatory, array
        case minSize = "min_size"
        case maxSize = "max_size"
        case minValue = "min_value"
        case maxValue = "max_value"
        case minLength = "min_length"
        case maxLength = "max_length"
        case values, since, until, deprecated
    }
}
