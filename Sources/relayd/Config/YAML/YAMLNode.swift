// A configuration file as a tree, with the place of each part of it. `YAMLComposer` makes it, `ConfigWalk`
// visits it.

/// A place in a text; line and column start at 1, columns count Unicode scalars.
struct YAMLPlace: Sendable, Equatable {
    var line: Int
    var column: Int
}

/// Why a text is no configuration, before any key is looked at.
struct YAMLError: Error, Equatable {
    let place: YAMLPlace
    let text: String
}

/// One node of a YAML text.
enum YAMLNode: Sendable, Equatable {
    case scalar(Scalar)
    case sequence([YAMLNode], at: YAMLPlace)
    case mapping([Pair], at: YAMLPlace)

    /// Text and how it was written: what it is taken for is decided by whoever reads it.
    struct Scalar: Sendable, Equatable {
        var text: String
        /// Whether it was written without quotes, and not as a block.
        var isPlain: Bool
        /// As in "!Show"; the tags of YAML itself are written in full (tag:yaml.org,2002:str). Nil without
        /// any.
        var tag: String?
        var place: YAMLPlace
    }

    /// A key may come more than once: whoever reads says what that means.
    struct Pair: Sendable, Equatable {
        var key: YAMLNode
        var value: YAMLNode
    }

    /// Where it begins, with its anchor or tag.
    var place: YAMLPlace {
        switch self {
        case .scalar(let scalar): scalar.place
        case .sequence(_, let place), .mapping(_, let place): place
        }
    }
}
