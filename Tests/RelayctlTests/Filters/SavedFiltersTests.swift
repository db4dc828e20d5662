import Foundation
import RelayTesting
import Testing

@testable import relayctl

@Suite("Filters kept under a name") struct SavedFiltersTests {
    private func withFile(_ body: (SavedFilters, TemporaryDirectory) throws -> Void) async throws {
        try await TemporaryDirectory.run { directory in
            try body(SavedFilters(path: directory.file("config/relayd/filters")), directory)
        }
    }

    @Test("what is saved is found, replaced and removed, and comments stay") func life()
        async throws
    {
        try await withFile { saved, _ in
            #expect(try saved.all().isEmpty)
            #expect(try saved.save(.init(name: "slow", text: "ms>200 !rpc:Alert")) == nil)
            #expect(try saved.save(.init(name: "mine", text: "param.a=b")) == nil)
            #expect(try saved.save(.init(name: "slow", text: "ms>1s")) == "ms>200 !rpc:Alert")
            #expect(try saved.all().map(\.name) == ["slow", "mine"])
            #expect(try saved.text(of: "mine") == "param.a=b")
            let text = try String(contentsOfFile: saved.path, encoding: .utf8)
            #expect(text.hasPrefix("# ") && text.hasSuffix("\nslow = ms>1s\nmine = param.a=b\n"))
            #expect(try saved.remove("slow") == "ms>1s")
            #expect(try saved.remove("slow") == nil)
            #expect(try String(contentsOfFile: saved.path, encoding: .utf8).hasPrefix("# "))
        }
    }

    @Test("the file is for its owner only, and stays where a link leads") func file() async throws {
        try await withFile { saved, directory in
            try saved.save(.init(name: "a", text: "ok"))
            let attributes = try FileManager.default.attributesOfItem(atPath: saved.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let link = SavedFilters(path: directory.file("link"))
            try FileManager.default.createSymbolicLink(
                atPath: link.path, withDestinationPath: saved.path)
            try link.save(.init(name: "b", text: "!ok"))
            #expect(try saved.text(of: "b") == "!ok")
            let names = try FileManager.default.contentsOfDirectory(
                atPath: directory.file("config/relayd"))
            #expect(names == ["filters"])
        }
    }

    @Test("lines that are no filter are passed over; a directory and a huge file are told")
    func strange() async throws {
        try await withFile { _, directory in
            let path = try directory.write(
                "# a = ok\n\n  b  =  !ok  \nno name\nc d = ok\nb = rpc:Show\n", to: "filters")
            let saved = SavedFilters(path: path)
            #expect(try saved.all().map(\.text) == ["!ok", "rpc:Show"])
            #expect(try saved.text(of: "b") == "rpc:Show")
            #expect(throws: SavedFilters.Problem.self) {
                try SavedFilters(path: directory.path).all()
            }
            let huge = try directory.write(String(repeating: "#", count: 2 << 20), to: "huge")
            #expect(throws: SavedFilters.Problem.self) { try SavedFilters(path: huge).all() }
        }
    }

    @Test("a file of another system's editor is read, and keeps its other lines") func otherSystem()
        async throws
    {
        try await withFile { _, directory in
            let path = try directory.write(
                "\u{FEFF}a = ok\r\n# mine\r\nb = ms>1s\r\n", to: "filters")
            let saved = SavedFilters(path: path)
            #expect(
                try saved.all()
                    == [.init(name: "a", text: "ok"), .init(name: "b", text: "ms>1s")])
            try saved.save(.init(name: "c", text: "!ok"))
            #expect(try saved.all().map(\.name) == ["a", "b", "c"])
        }
    }

    @Test("the configuration folder is XDG's, else that of the home") func place() throws {
        func path(_ environment: [String: String]) throws -> String {
            try SavedFilters(environment: { environment[$0] }).path
        }
        #expect(try path(["XDG_CONFIG_HOME": "/x", "HOME": "/h"]) == "/x/relayd/filters")
        #expect(try path(["XDG_CONFIG_HOME": "x", "HOME": "/h"]) == "/h/.config/relayd/filters")
        #expect(throws: SavedFilters.Problem.self) { try path([:]) }
    }
}
