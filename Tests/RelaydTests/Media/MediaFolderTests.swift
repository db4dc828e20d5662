import Glibc
import NIOCore
import RelayTesting
import Testing

@testable import relayd

@Suite("The folder that takes media") struct MediaFolderTests {
    private static let time = "2026-11-23T10:31:07.250Z"

    private static func failure(_ body: () throws -> Void) -> String {
        do {
            try body()
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test("a name that is taken gets a number, and nothing is written over")
    func names() async throws {
        try await TemporaryDirectory.run { directory in
            var folder = MediaFolder(directory.path, bytes: 1 << 20, files: 10)
            folder.survey()
            let first = try folder.create("Radio-icon.png", at: Self.time)
            try folder.write(ByteBuffer(string: "one"), at: 0, to: first)
            let second = try folder.create("Radio-icon.png", at: Self.time)
            try folder.write(ByteBuffer(string: "two"), at: 0, to: second)
            #expect(first.name == "20261123-103107250-Radio-icon.png")
            #expect(second.name == "20261123-103107250-Radio-icon-2.png")
            #expect(folder.files == 2 && folder.bytes == 6)
            var status = stat()
            #expect(stat(first.path, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            #expect(status.st_size == 3)
        }
    }

    @Test("a link that lies under the name is not followed")
    func links() async throws {
        try await TemporaryDirectory.run { directory in
            let other = directory.file("other")
            #expect(symlink(other, directory.file("20261123-103107250-a.bin")) == 0)
            var folder = MediaFolder(directory.path, bytes: 1 << 20, files: 10)
            let file = try folder.create("a.bin", at: Self.time)
            #expect(file.name == "20261123-103107250-a-2.bin")
            #expect(access(other, F_OK) != 0)
        }
    }

    @Test("what others put there counts; beyond the limit nothing is written until room is made")
    func full() async throws {
        try await TemporaryDirectory.run { directory in
            let old = try directory.write(String(repeating: "x", count: 924), to: "old")
            var folder = MediaFolder(directory.path, bytes: 1024, files: 10)
            folder.survey()
            #expect(folder.bytes == 924)
            let file = try folder.create("a.bin", at: Self.time)
            try folder.write(ByteBuffer(repeating: 1, count: 100), at: 0, to: file)
            // Overwrites existing bytes: nothing grows.
            try folder.write(ByteBuffer(repeating: 2, count: 100), at: 0, to: file)
            let refusal = Self.failure {
                try folder.write(ByteBuffer(repeating: 1, count: 1), at: 100, to: file)
            }
            #expect(
                refusal
                    == "\(directory.path) is full, 1 KiB (media.limit): remove files there, "
                    + "or allow more")
            unlink(old)
            try folder.write(ByteBuffer(repeating: 1, count: 1), at: 100, to: file)
        }
    }

    @Test("no more files than are allowed")
    func files() async throws {
        try await TemporaryDirectory.run { directory in
            var folder = MediaFolder(directory.path, bytes: 1 << 20, files: 2)
            _ = try folder.create("a.bin", at: Self.time)
            _ = try folder.create("a.bin", at: Self.time)
            let refusal = Self.failure { _ = try folder.create("a.bin", at: Self.time) }
            #expect(
                refusal
                    == "\(directory.path) is full, 2 files (media.files): remove files there, "
                    + "or allow more")
        }
    }

    @Test("a full disk is said with what to do")
    func fullDisk() throws {
        // The device that is always full stands in for a full disk.
        let failure = MediaFailure("/media/a.bin cannot be written", ENOSPC)
        #expect(
            "\(failure)"
                == "/media/a.bin cannot be written: No space left on device; make room there, or "
                + "name a directory of another disk")
    }
}
