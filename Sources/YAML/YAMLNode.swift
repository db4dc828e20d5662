// A YAML text as a tree, with the place of each part of it. `YAMLComposer` builds it; its readers interpret
// it: the configuration and scenarios.

/// A place in a text; line and column start at 1, columns count Unicode scalars.
package struct YAMLPlace: Sendable, Equatable {
    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        (self.line, self.column) = (line, column)
    }
}

/// Why a text is not a tree, before any key is interpreted.
package struct YAMLError: Error, Equatable {
    package let place: YAMLPlace
    package let text: String
}

/// One node of a YAML text.
package enum YAMLNode: Sendable, Equatable {
    case scalar(Scalar)
    case sequence([YAMLNode], at: YAMLPlace)
    case mapping([Pair], at: YAMLPlace)

    /// The text and how it was written; its reader decides how to interpret it.
    package struct Scalar: Sendable, Equatable {
        package var text: String
        /// Whether it was written without quotes, and not as a block.
        package var isPlain: Bool
        /// As in "!Show"; the tags of YAML itself are written in full (tag:yaml.org,2002:str). Nil if there
        /// is none.
        package var tag: String?
        package var place: YAMLPlace

        package init(text: String, isPlain: Bool, tag: String?, place: YAMLPlace) {
            (self.text, self.isPlain, self.tag, self.place) = (text, isPlain, tag, place)
        }

        /// Whether the value is empty, or a YAML word for null.
        package var isNothing: Bool {
            isPlain && ["", "~", "null", "Null", "NULL"].contains(text)
        }
    }

    /// A key may occur more than once: the reader decides what that means.
    package struct Pair: Sendable, Equatable {
        package var key: YAMLNode
        package var value: YAMLNode
    }

    /// Where the node begins, with its anchor or tag.
    package var place: YAMLPlace {
        switch self {
        case .scalar(let scalar): scalar.place
        case .sequence(_, let place), .mapping(_, let place): place
        }
    }
}
