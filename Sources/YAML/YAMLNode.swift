// A YAML text as a tree, with the place of each part of it. `YAMLComposer` makes it; who reads it says what it
// means: the configuration, scenarios.

/// A place in a text; line and column start at 1, columns count Unicode scalars.
package struct YAMLPlace: Sendable, Equatable {
    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        (self.line, self.column) = (line, column)
    }
}

/// Why a text is no tree, before any key is looked at.
package struct YAMLError: Error, Equatable {
    package let place: YAMLPlace
    package let text: String
}

/// One node of a YAML text.
package enum YAMLNode: Sendable, Equatable {
    case scalar(Scalar)
    case sequence([YAMLNode], at: YAMLPlace)
    case mapping([Pair], at: YAMLPlace)

    /// Text and how it was written: what it is taken for is decided by whoever reads it.
    package struct Scalar: Sendable, Equatable {
        package var text: String
        /// Whether it was written without quotes, and not as a block.
        package var isPlain: Bool
        /// As in "!Show"; the tags of YAML itself are written in full (tag:yaml.org,2002:str). Nil without
        /// any.
        package var tag: String?
        package var place: YAMLPlace

        package init(text: String, isPlain: Bool, tag: String?, place: YAMLPlace) {
            (self.text, self.isPlain, self.tag, self.place) = (text, isPlain, tag, place)
        }

        /// Nothing was written, or a word of YAML for nothing.
        package var isNothing: Bool {
            isPlain && ["", "~", "null", "Null", "NULL"].contains(text)
        }
    }

    /// A key may come more than once: whoever reads says what that means.
    package struct Pair: Sendable, Equatable {
        package var key: YAMLNode
        package var value: YAMLNode
    }

    /// Where it begins, with its anchor or tag.
    package var place: YAMLPlace {
        switch self {
        case .scalar(let scalar): scalar.place
        case .sequence(_, let place), .mapping(_, let place): place
        }
    }
}
