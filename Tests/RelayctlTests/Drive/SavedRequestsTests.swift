// The files of relayctl request: what is saved, what is refused, and several writers at once.

import ArgumentParser
import ControlAPI
import Foundation
import Glibc
import RelayTesting
import Testing

@testable import relayctl

@Suite("Requests kept under a name") struct SavedRequestsTests {
    private let greeting = SavedRequest(
        name: "greeting", rpc: "Show", app: "radio", set: ["mainField1={text}"])

    private func withFile(_ body: (SavedRequests, TemporaryDirectory) throws -> Void) async throws {
        try await TemporaryDirectory.run { directory in
            try body(SavedRequests(path: directory.file("config/requests.json")), directory)
        }
    }

    @Test("what is saved is found, replaced and removed") func life() async throws {
        try await withFile { saved, _ in
            #expect(try saved.all().isEmpty)
            #expect(try saved.save(greeting) == nil)
            var full = SavedRequest(name: "b-2", rpc: "0x8001", type: "request", unchecked: true)
            full.parameters = .object(["a": .array([.integer(1), .null, .number(1.5)])])
            full.bulkFile = "/tmp/ü.png"
            #expect(try saved.save(full) == nil)
            #expect(try saved.all() == [greeting, full])
            var other = greeting
            other.app = nil
            #expect(try saved.save(other) == greeting)
            #expect(try saved.request("greeting") == other)
            #expect(try saved.request("b-2") == full)
            #expect(try saved.remove("greeting") == other)
            #expect(try saved.remove("greeting") == nil)
            #expect(try saved.all() == [full])
            let attributes = try FileManager.default.attributesOfItem(atPath: saved.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test(
        "its file is kept with where it is, so that it is found from elsewhere when it is sent again"
    )
    func bulkFile() throws {
        for (typed, kept) in [("icon.png", nil), ("/tmp/icon.png", "/tmp/icon.png")] {
            let options = try RequestOptions.parse(["--bulk", typed])
            let request = try options.request("PutFile", app: "radio", unchecked: false) { $0 }
            let folder = FileManager.default.currentDirectoryPath
            #expect(request.bulkFile == kept ?? "\(folder)/\(typed)")
        }
    }

    @Test("a request is shown as it would be typed") func words() {
        var request = greeting
        request.set = ["mainField1={text}", "mainField2=it's", "a=b"]
        request.app = "My App"
        #expect(
            request.words
                == "--app 'My App' Show 'mainField1={text}' 'mainField2=it'\\''s' a=b")
    }

    @Test(
        "a file that is broken, newer or says more is told of, and stays as it is",
        arguments: [
            ("{", "it is no JSON"), ("[]", "all of it is of another type"),
            (#"{"schema":1,"requests":[{"name":"-1","rpc":"Show"}]}"#, "cannot be a name"),
            (#"{"schema":1}"#, ".requests is missing"),
            (#"{"schema":1,"requests":[{"name":"a"}]}"#, ".requests[0].rpc is missing"),
            (#"{"schema":2,"requests":[]}"#, "newer relayctl"),
            (#"{"schema":1,"requests":[],"x":1}"#, "unknown member \"x\""),
            (#"{"schema":1,"requests":[{"name":"a","rpc":"Show","note":""}]}"#, "\"note\""),
            (#"{"schema":1,"requests":[{"name":"a b","rpc":"Show"}]}"#, "cannot be a name"),
            (
                #"{"schema":1,"requests":[{"name":"a","rpc":"Show"},{"name":"a","rpc":"Show"}]}"#,
                "comes twice"
            ),
            (#"{"schema":1,"requests":[{"name":"a","rpc":"Show","set":["x"]}]}"#, "NAME=VALUE"),
        ])
    func broken(text: String, words: String) async throws {
        try await withFile { _, directory in
            let saved = SavedRequests(path: try directory.write(text, to: "requests.json"))
            let deeds: [() throws -> Void] = [
                { _ = try saved.all() }, { try saved.save(greeting) },
                { _ = try saved.remove("a") },
                { _ = try saved.add([greeting], replaces: true) },
            ]
            for deed in deeds {
                do {
                    try deed()
                    Issue.record("\(text) was taken")
                } catch let error as KeptFile.Problem {
                    #expect(error.description.contains(words), "\(error)")
                    #expect(error.description.contains("requests.json"), "\(error)")
                }
            }
            #expect(try String(contentsOfFile: saved.path, encoding: .utf8) == text)
        }
    }

    @Test("an import adds all or none, and takes nothing's place unless it may") func imported()
        async throws
    {
        try await withFile { saved, _ in
            try saved.save(greeting)
            var changed = greeting
            changed.rpc = "Alert"
            let new = SavedRequest(name: "new", rpc: "ListFiles")
            do throws(KeptFile.Problem) {
                _ = try saved.add([new, changed], replaces: false)
                Issue.record("it was imported")
            } catch {
                #expect(error.description.contains("other requests named greeting"))
            }
            #expect(try saved.all() == [greeting])
            #expect(try saved.add([greeting, new], replaces: false) == 1)
            #expect(try saved.add([changed, new], replaces: true) == 1)
            #expect(try saved.all() == [changed, new])
            let many = (0..<SavedRequests.maximumCount).map {
                SavedRequest(name: "n\($0)", rpc: "Show")
            }
            #expect(throws: KeptFile.Problem.self) { try saved.add(many, replaces: false) }
            #expect(try saved.all() == [changed, new])
        }
    }

    @Test("what many write at once is all there") func writers() async throws {
        try await TemporaryDirectory.run { directory in
            let saved = SavedRequests(path: directory.file("requests.json"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        try saved.save(SavedRequest(name: "n\(number)", rpc: "Show"))
                    }
                }
                try await group.waitForAll()
            }
            #expect(Set(try saved.all().map(\.name)) == Set((0..<16).map { "n\($0)" }))
            let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(left == ["requests.json"])
        }
    }
}

@Suite("Requests that were sent") struct RequestHistoryTests {
    private func entry(_ number: Int, _ text: String = "") -> RequestHistory.Entry {
        RequestHistory.Entry(
            time: "2026-11-28T01:02:03Z",
            request: SavedRequest(name: "", rpc: "Show", set: ["n=\(number)\(text)"]),
            outcome: "SUCCESS")
    }

    private func withFile(_ body: (RequestHistory) throws -> Void) async throws {
        try await TemporaryDirectory.run { directory in
            try body(RequestHistory(path: directory.file("requests")))
        }
    }

    @Test("the latest are kept, and found by how long ago they were") func bounded() async throws {
        try await withFile { history in
            #expect(try history.entry(1) == nil)
            for number in 1...RequestHistory.maximumCount + 5 { try history.add(entry(number)) }
            #expect(try history.all().count == RequestHistory.maximumCount)
            #expect(try history.all().first == entry(6))
            #expect(try history.entry(1) == entry(RequestHistory.maximumCount + 5))
            #expect(try history.entry(RequestHistory.maximumCount) == entry(6))
            #expect(try history.entry(RequestHistory.maximumCount + 1) == nil)
            #expect(try history.entry(Int.max) == nil)
            #expect(try history.entry(0) == nil)
            #expect(try history.clear() == RequestHistory.maximumCount)
            #expect(try history.all().isEmpty)
        }
    }

    @Test("a huge one is not kept, and the largest ones fit") func large() async throws {
        try await withFile { history in
            try history.add(entry(1, String(repeating: "x", count: 5000)))
            #expect(try history.all().isEmpty)
            for number in 1...RequestHistory.maximumCount {
                try history.add(entry(number, String(repeating: "x", count: 3900)))
            }
            #expect(try history.all().count == RequestHistory.maximumCount)
        }
    }

    @Test("lines that are none are passed over") func strange() async throws {
        try await TemporaryDirectory.run { directory in
            let path = try directory.write("{\n\nnonsense\n[1]\n", to: "requests")
            let history = RequestHistory(path: path)
            #expect(try history.all().isEmpty)
            try history.add(entry(1))
            #expect(try history.all() == [entry(1)])
        }
    }
}
