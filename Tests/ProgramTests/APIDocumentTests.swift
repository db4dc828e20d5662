// Sources/ControlAPI/API.md against the built relayd: each of its examples is run, and each answer
// compared with its tables, both ways.

import ControlAPI
import Foundation
import RelayTesting
import Testing

/// The document, as far as a program can read it.
private struct APIDocument {
    struct Field {
        let name: String
        let type: String
        var isOptional: Bool { type.hasSuffix("?") }
    }

    struct Section {
        /// "GET /v1/status", or a type's name.
        let title: String
        var answers: String?
        var example: String?
        var fields: [Field] = []
    }

    let sections: [Section]

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appending(path: "Sources/ControlAPI/API.md"), encoding: .utf8)
        var sections: [Section] = []
        for part in text.components(separatedBy: "\n### ").dropFirst() {
            let lines = part.components(separatedBy: "\n")
            var section = Section(title: lines[0])
            for line in lines.dropFirst() {
                if line.hasPrefix("Answers: ") { section.answers = String(line.dropFirst(9)) }
                if line.hasPrefix("curl ") { section.example = line }
                if let row = line.wholeMatch(of: #/\| `([a-z_]+)` \| ([^|]+) \| (.+) \|/#) {
                    section.fields.append(Field(name: String(row.1), type: String(row.2)))
                }
            }
            sections.append(section)
        }
        self.sections = sections
    }

    var routes: [Section] { sections.filter { $0.title.contains(" /") } }

    /// What differs between `json` and the table of `type`.
    func differences(_ json: Any, _ type: String, at path: String = "") -> [String] {
        let type = type.hasSuffix("?") ? String(type.dropLast()) : type
        if type.hasPrefix("[") {
            guard let list = json as? [Any] else { return ["\(path) is no list"] }
            let element = String(type.dropFirst().dropLast())
            return list.flatMap { differences($0, element, at: path + "[]") }
        }
        switch type {
        case "text": return json is String ? [] : ["\(path) is no text"]
        case "number", "boolean": return json is NSNumber ? [] : ["\(path) is no \(type)"]
        case "time":
            return (json as? String).flatMap { Timestamp($0) } == nil ? ["\(path) is no time"] : []
        case "{text: number}": return json is [String: Int] ? [] : ["\(path) is no \(type)"]
        default: break
        }
        guard let section = sections.first(where: { $0.title == type }) else {
            return ["there is no type \(type), of \(path)"]
        }
        guard let object = json as? [String: Any] else { return ["\(path) is no object"] }
        let known = Set(section.fields.map(\.name))
        var found = object.keys.filter { !known.contains($0) }.sorted()
            .map { "\(path).\($0) is not documented in \(type)" }
        for field in section.fields {
            if let value = object[field.name] {
                found += differences(value, field.type, at: "\(path).\(field.name)")
            } else if !field.isOptional {
                found.append("\(path).\(field.name) of \(type) is documented, but not there")
            }
        }
        return found
    }
}

@Suite("The document of the control API", .serialized)
struct APIDocumentTests {
    @Test("it has every route there is, and no other") func routes() throws {
        let documented = try APIDocument().routes.map(\.title)
        let served = Routes.all.map { "\($0.method) \($0.path)" }
        #expect(Set(documented) == Set(served))
        #expect(documented.count == served.count)
    }

    @Test("every example works, and answers what the tables say") func examples() async throws {
        let document = try APIDocument()
        try await Relayd.run(accessory: "sim:") { relayd in
            try await relayd.until("open") { $0.accessory.state == .open }
            func run(_ example: String) async throws -> Data {
                let curl = try await ChildProcess.run(
                    "/bin/sh", ["-c", example],
                    environment: Program.environment(["SOCKET": relayd.controlSocket]))
                #expect(curl.ending == .exited(0), "\(example)")
                return Data(curl.output.utf8)
            }
            // Answers about an app need one.
            let app = try await relayd.connectApp()
            try await relayd.until("connected") { $0.apps.count == 1 }
            for route in document.routes {
                guard let example = route.example else { continue }
                if route.title.hasPrefix("PUT /v1/server") {
                    // Else there is nothing to switch on.
                    _ = try await relayd.relayctl("server", "off")
                }
                let answer = try await run(example)
                guard let type = route.answers else {
                    #expect(!answer.isEmpty, "\(example)")
                    continue
                }
                let json = try JSONSerialization.jsonObject(with: answer)
                #expect(document.differences(json, type) == [], "\(example)")
            }
            let error = try await run("curl -s --unix-socket \"$SOCKET\" http://relayd/v1/apps/99")
            let json = try JSONSerialization.jsonObject(with: error)
            #expect(document.differences(json, "APIError") == [])
            await app.close()
        }
    }

    @Test("a field that is missing, unknown or of another type would be found") func differences()
        throws
    {
        let document = try APIDocument()
        let good: [String: Any] = ["schema": 1, "summary": "done"]
        #expect(document.differences(good, "ActionReport") == [])
        #expect(document.differences(["schema": 1], "ActionReport").count == 1)
        #expect(document.differences(["schema": "1", "summary": ""], "ActionReport").count == 1)
        let more = good.merging(["extra": 1]) { $1 }
        #expect(
            document.differences(more, "ActionReport") == [
                ".extra is not documented in ActionReport"
            ])
    }
}
