import Foundation
import Testing

@testable import relayd

// Files that cannot be read or are not text.

@Suite("Configuration files")
struct ConfigFileTests {
    @Test("a file that is not there is named, with what to do")
    func absent() {
        #expect(
            Self.message(path: "/nonexistent/relayd.yaml")
                == "/nonexistent/relayd.yaml: cannot be read: No such file or directory; check the "
                + "path, or leave it out to run with the built-in defaults")
    }

    @Test("a directory is no configuration")
    func directory() {
        #expect(Self.message(path: "/tmp") == "/tmp: not a regular file; name a YAML file")
    }

    @Test("a file that is far too large is another file")
    func tooLarge() throws {
        let bytes = [UInt8](repeating: 0x23, count: ConfigFile.Kind.configuration.maximumBytes + 1)
        try ScratchDirectory.use { directory in
            let path = directory + "/large.yaml"
            try Data(bytes).write(to: URL(filePath: path))
            #expect(
                Self.message(path: path)
                    == "\(path): larger than 256 KiB, which no configuration is")
        }
    }

    @Test("bytes that are not UTF-8 are found by line and column")
    func invalidUTF8() throws {
        try ScratchDirectory.use { directory in
            let path = directory + "/latin1.yaml"
            let bytes = Array("# Grüße\nlog:\n  apps: [\"".utf8) + [0xE9] + Array("\"]\n".utf8)
            try Data(bytes).write(to: URL(filePath: path))
            #expect(
                Self.message(path: path)
                    == "\(path):3:11: not UTF-8 text; save the file as UTF-8")
        }
    }

    private static func message(path: String) -> String {
        do throws(ConfigErrors) {
            _ = try Config.load(path: path)
            return "no error"
        } catch {
            return error.description
        }
    }
}
