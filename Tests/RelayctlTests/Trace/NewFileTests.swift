import Foundation
import NIOCore
import RelayTesting
import Testing

@testable import relayctl

@Suite("A file that is made whole or not at all")
struct NewFileTests {
    @Test("it has no name before it is whole, so that nothing is left of it after ^C")
    func nameless() async throws {
        try await TemporaryDirectory.run { directory in
            var file = try NewFile(directory.file("new"))
            try file.write(ByteBuffer(string: "all of it"))
            #expect(try Self.names(in: directory) == [])
            try file.keep()
            #expect(try Self.names(in: directory) == ["new"])
            #expect(
                try String(contentsOfFile: directory.file("new"), encoding: .utf8) == "all of it")
        }
    }

    @Test("what has come there meanwhile is not overwritten") func taken() async throws {
        try await TemporaryDirectory.run { directory in
            var file = try NewFile(directory.file("new"))
            try file.write(ByteBuffer(string: "ours"))
            try "theirs".write(
                toFile: directory.file("new"), atomically: false, encoding: .utf8)
            do {
                try file.keep()
                Issue.record("it was overwritten")
            } catch {
                #expect("\(error)".contains("already exists"))
            }
            #expect(
                try String(contentsOfFile: directory.file("new"), encoding: .utf8) == "theirs")
        }
    }

    private static func names(in directory: TemporaryDirectory) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
    }
}
