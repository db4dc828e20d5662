// Sources/ControlAPI/API.md as a program reads it: its examples, its tables of fields and of words.
// Tests compare it with what relayd answers, and with the types behind the answers.

import Foundation

/// The document of the control API.
package struct APIDocument: Sendable {
    package struct Field: Sendable {
        package let name: String
        package let type: String
        package var isOptional: Bool { type.hasSuffix("?") }
    }

    package struct Section: Sendable {
        /// "GET /v1/status", or a type's name.
        package let title: String
        package fileprivate(set) var answers: String?
        package fileprivate(set) var example: String?
        /// The access of a route; nil where it follows from the method.
        package fileprivate(set) var access: String?
        package fileprivate(set) var fields: [Field] = []
        /// The words of a list.
        package fileprivate(set) var words: [String] = []
        /// Keys of the query.
        package fileprivate(set) var query: [String] = []
    }

    package let sections: [Section]

    package init() throws {
        let text = try String(
            contentsOf: Checkout.root.appending(path: "Sources/ControlAPI/API.md"), encoding: .utf8)
        sections = text.components(separatedBy: "\n### ").dropFirst().map(Self.section)
    }

    private static func section(_ text: String) -> Section {
        let lines = text.components(separatedBy: "\n")
        var section = Section(title: lines[0])
        var table = ""
        for line in lines.dropFirst() {
            if line.hasPrefix("## ") { break }
            if line.hasPrefix("Answers: ") { section.answers = String(line.dropFirst(9)) }
            if line.hasPrefix("Access: ") { section.access = String(line.dropFirst(8)) }
            if line.hasPrefix("curl ") { section.example = line }
            if let head = line.wholeMatch(of: #/\| (field|word|query) \|.*/#) {
                table = String(head.1)
            }
            guard let row = line.wholeMatch(of: #/\| `([^`]+)` \| (.+) \|/#) else { continue }
            switch table {
            case "field":
                let type = row.2.prefix { $0 != "|" }
                section.fields.append(
                    Field(name: String(row.1), type: type.trimmingCharacters(in: .whitespaces)))
            case "word": section.words.append(String(row.1))
            default: section.query.append(String(row.1))
            }
        }
        return section
    }

    package subscript(title: String) -> Section? { sections.first { $0.title == title } }

    package var routes: [Section] { sections.filter { $0.title.contains(" /") } }
    /// Tables of fields and of words.
    package var types: [Section] { sections.filter { !$0.title.contains(" /") } }

    // MARK: Against an answer

    /// What differs between `json` and the table of `type`.
    ///
    /// - Parameter seen: receives the tables that were used.
    package func differences(
        _ json: Any, _ type: String, at path: String = "", seen: inout Set<String>
    ) -> [String] {
        let type = type.hasSuffix("?") ? String(type.dropLast()) : type
        if type.hasPrefix("[") {
            guard let list = json as? [Any] else { return ["\(path) is no list"] }
            let element = String(type.dropFirst().dropLast())
            return list.flatMap { differences($0, element, at: path + "[]", seen: &seen) }
        }
        if let isFine = Self.isOfBasicType(json, type) {
            return isFine ? [] : ["\(path) is no \(type)"]
        }
        guard let section = self[type] else { return ["there is no type \(type), of \(path)"] }
        seen.insert(type)
        guard section.words.isEmpty else {
            let word = json as? String
            return word.map(section.words.contains) == true
                ? [] : ["\(path) is \(word ?? "no text"), which \(type) does not have"]
        }
        guard let object = json as? [String: Any] else { return ["\(path) is no object"] }
        let known = Set(section.fields.map(\.name))
        var found = object.keys.filter { !known.contains($0) }.sorted()
            .map { "\(path).\($0) is not documented in \(type)" }
        for field in section.fields {
            if let value = object[field.name] {
                found += differences(value, field.type, at: "\(path).\(field.name)", seen: &seen)
            } else if !field.isOptional {
                found.append("\(path).\(field.name) of \(type) is documented, but not there")
            }
        }
        return found
    }

    /// The same for a stream: every line with `n` is of the type, the others are advice and notes.
    package func differences(
        inLines text: String, _ type: String, seen: inout Set<String>
    ) throws -> [String] {
        try text.split(separator: "\n").flatMap { line in
            let json = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let members = json as? [String: Any]
            let note = members?["kind"] as? String == "advice" ? "AdviceNote" : "StreamNote"
            // A type without numbers has no notes between its lines.
            let isNote =
                members?["n"] == nil && self[type]?.fields.contains { $0.name == "n" } == true
            return differences(json, isNote ? note : type, seen: &seen)
        }
    }

    /// Nil when `type` has a table.
    private static func isOfBasicType(_ json: Any, _ type: String) -> Bool? {
        switch type {
        case "text": json is String
        case "number": (json as? NSNumber).map { !isBoolean($0) } ?? false
        case "boolean": (json as? NSNumber).map(isBoolean) ?? false
        case "time":
            (json as? String)?.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) != nil
        case "object": json is [String: Any]
        case "{text: number}": json is [String: Int]
        case "scalar": json is String || json is NSNumber
        case "value": json is String || json is NSNumber || json is [String]
        default: nil
        }
    }

    private static func isBoolean(_ number: NSNumber) -> Bool {
        String(cString: number.objCType) == "c"
    }

    // MARK: Against a type

    /// An object with every field that the table has.
    package func sample(of type: String) -> Any {
        let type = type.hasSuffix("?") ? String(type.dropLast()) : type
        switch type {
        case "text": return "x"
        case "number": return 1
        case "boolean": return true
        case "time": return "2026-11-21T10:31:07.042Z"
        case "object": return [String: Any]()
        case "{text: number}": return ["x": 1]
        case "scalar": return "x"
        case "value": return ["x"]
        case _ where type.hasPrefix("["): return [sample(of: String(type.dropFirst().dropLast()))]
        default: break
        }
        guard let section = self[type] else { return "there is no type \(type)" }
        if let word = section.words.first { return word }
        return Dictionary(
            uniqueKeysWithValues: section.fields.map { ($0.name, sample(of: $0.type)) })
    }
}
