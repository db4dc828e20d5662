// The files that a request names: images to be shown, sounds to be played.

import SDLProtocol

extension JSON {
    /// Names of the files for images of type DYNAMIC.
    var imageNames: Set<String> {
        var names: Set<String> = []
        collect("value", whereMember: "imageType", is: "DYNAMIC", into: &names)
        return names
    }

    /// Names of the sound files to be played.
    var soundNames: Set<String> {
        var names: Set<String> = []
        collect("text", whereMember: "type", is: "FILE", into: &names)
        return names
    }

    /// The scanner has limited the depth.
    private func collect(
        _ name: String, whereMember key: String, is word: String, into names: inout Set<String>
    ) {
        switch self {
        case .object(let members):
            if self[key]?.string == word, let file = self[name]?.string, !file.isEmpty {
                names.insert(file)
            }
            for member in members {
                member.value.collect(name, whereMember: key, is: word, into: &names)
            }
        case .array(let values):
            for value in values { value.collect(name, whereMember: key, is: word, into: &names) }
        case .null, .bool, .integer, .number, .string: break
        }
    }
}

extension FileStore {
    /// Missing sounds are a reason to refuse, missing images only one to warn.
    static func check(_ request: inout Request, _ store: FileStore?) throws(Refusal) {
        guard let parameters = request.parameters else { return }
        func isMissing(_ name: String) -> Bool { store?.isComplete(name) != true }
        if let sound = parameters.soundNames.filter(isMissing).min() {
            throw Refusal(.fileNotFound, "\"\(named(sound))\" is not stored")
        }
        let images = parameters.imageNames.filter(isMissing).sorted()
        guard !images.isEmpty else { return }
        let shown = images.prefix(maximumNames).map { "\"\(named($0))\"" }
        request.warnings.append(
            "Requested image(s) not found: " + shown.joined(separator: ", ")
                + (images.count > maximumNames ? " and \(images.count - maximumNames) more" : ""))
    }

    /// The most names in one response, whose info has room for 1,000 characters.
    private static let maximumNames = 3

    private static func named(_ name: String) -> String { PrintableText.string(name, limit: 100) }
}
