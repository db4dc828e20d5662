// Documentation/architecture.md against the sources: the page has to name every thread and every module.

import Foundation
import RelayTesting
import Testing

@Suite("The page about the architecture") struct ArchitecturePageTests {
    /// A section of the page, from its heading to the next heading of the same level.
    private static func section(_ heading: String) throws -> String {
        let page = try String(
            contentsOf: Checkout.root.appending(path: "Documentation/architecture.md"),
            encoding: .utf8)
        let start = try #require(page.firstRange(of: "\n## \(heading)\n"), "\(heading)")
        let rest = page[start.upperBound...]
        return String(rest[..<(rest.firstRange(of: "\n## ")?.lowerBound ?? rest.endIndex)])
    }

    // MARK: Threads

    /// The code that precedes every thread's name.
    private static let words = [
        "relay_thread_set_name(", "Priority(as:", "SerialThread(named:", "set(name:", "= run(",
    ]

    /// The names that a source file gives to threads, and whether it also passes on a name that it was given.
    private static func threads(in source: String) -> (names: Set<String>, passesOn: Bool) {
        let literal =
            #/
            (?: relay_thread_set_name\( | Priority\(as:\s | SerialThread\(named:\s | set\(name:\s | =\srun\( )
            "([^"]+)"
            /#
        let variable = #/(?:relay_thread_set_name\(|Priority\(as:\s|SerialThread\(named:\s)[a-z]/#
        let names = source.matches(of: literal).map { String($0.1) }
        let passesOn = source.contains(variable)
        return (Set(names), passesOn)
    }

    @Test("a thread's name would be found") func names() {
        let source = #"""
            _ = relay_thread_set_name("one")
            loop.execute { ThreadScheduling.lowPriority(as: "two") }
            private let thread = SerialThread(named: "three and more")
            error = run("four") { self.move() }
            """#
        let found = Self.threads(in: source)
        #expect(found.names == ["one", "two", "three and more", "four"] && !found.passesOn)
        #expect(Self.threads(in: "_ = relay_thread_set_name(name)").passesOn)
    }

    @Test("every thread that the sources name is in the table of threads") func threads() throws {
        let rows = try Self.section("Threads").split(separator: "\n").filter { $0.hasPrefix("|") }
        let listed = Set(
            rows.compactMap { $0.split(separator: "|").first }
                .flatMap { $0.matches(of: #/`([^`]+)`/#).map { String($0.1) } })
        let sources = Checkout.root.appending(path: "Sources")
        var named: Set<String> = []
        var passingOn: Set<String> = []
        for path in FileManager.default.subpaths(atPath: sources.path) ?? []
        where path.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
            // Most files name no thread, and the search is slow.
            guard Self.words.contains(where: text.contains) else { continue }
            let found = Self.threads(in: text)
            for name in found.names {
                #expect(listed.contains(name), "\(path) names a thread \"\(name)\"")
            }
            named.formUnion(found.names)
            if found.passesOn { passingOn.insert(String(path.split(separator: "/").last ?? "")) }
        }
        #expect(named.isSuperset(of: ["relay", "tasks", "media", "gadget in", "usb survey"]))
        // The callers of these are found by the function's name. Those of a new one would have to be found as
        // well.
        #expect(
            passingOn == ["ThreadScheduling.swift", "SerialThread.swift", "GadgetLink.swift"],
            "look for the callers as well")
    }

    // MARK: Modules

    @Test("every folder of Sources is in the source tree") func modules() throws {
        let tree = try Self.section("The source tree")
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Checkout.root.appending(path: "Sources").path
        ).filter { !$0.hasPrefix(".") }
        #expect(folders.count > 25)
        let words = Set(tree.split(whereSeparator: \.isWhitespace))
        for folder in folders {
            #expect(words.contains("\(folder)/"), "Sources/\(folder)")
        }
    }
}
