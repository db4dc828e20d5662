internal import Glibc
import YAML

// The configuration file on disk: reading it, and saying why it cannot be read.

extension Config {
    /// The file relayd reads when none is named, if it exists.
    package static let defaultFile = "/etc/relayd/relayd.yaml"

    /// Reads a configuration file.
    package static func load(
        path: String, validateAccessory: @escaping (String) -> String? = { _ in nil }
    ) throws(ConfigErrors) -> Config {
        var builder = ConfigBuilder(validateAccessory: validateAccessory)
        builder.add(file: path)
        return try builder.finish()
    }

    /// Reads a configuration from text; `file` is its name in messages.
    package static func decode(
        _ yaml: String, file: String,
        validateAccessory: @escaping (String) -> String? = { _ in nil }
    ) throws(ConfigErrors) -> Config {
        var builder = ConfigBuilder(validateAccessory: validateAccessory)
        builder.add(yaml: yaml, file: file)
        return try builder.finish()
    }
}

extension ConfigBuilder {
    /// Adds a file from disk.
    package mutating func add(file path: String) {
        do throws(ConfigFile.Failure) {
            add(yaml: try ConfigFile.text(of: ConfigFile.read(path)), file: path)
        } catch {
            let origin =
                error.place.map { ConfigOrigin.file(path, line: $0.line, column: $0.column) }
            report(ConfigProblem(origin: origin ?? .wholeFile(path), path: "", text: error.text))
        }
    }
}

/// Access to the bytes of a configuration file.
package enum ConfigFile {
    /// What kind of file is expected, for its size limit and for messages.
    package struct Kind: Sendable {
        package var maximumBytes: Int
        /// "an XML file"
        package var format: String
        /// "configuration"
        package var noun: String
        /// What is used without it.
        package var substitute: String

        /// The shipped file has 6 KB; anything larger than this is a different file, named by
        /// mistake.
        package static let configuration = Kind(
            maximumBytes: 256 * 1024, format: "a YAML file", noun: "configuration",
            substitute: "built-in defaults")
    }

    /// Why the file's text cannot be read.
    package struct Failure: Error, Equatable {
        var place: YAMLPlace?
        package var text: String
    }

    /// Whether anything at all is at this path, readable or not.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 || errno != ENOENT
    }

    /// The absolute path, valid in any working directory.
    package static func wholePath(_ path: String) -> String {
        guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
        defer { free(directory) }
        let base = String(cString: directory)
        let rest = path.hasPrefix("./") ? String(path.dropFirst(2)) : path
        return base.hasSuffix("/") ? base + rest : base + "/" + rest
    }

    /// The bytes of the file.
    package static func read(
        _ path: String, as kind: Kind = .configuration
    ) throws(Failure) -> [UInt8] {
        // O_NONBLOCK: a pipe nobody writes to must not hang the start.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable(kind) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw unreadable(kind) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(text: "not a regular file; name \(kind.format)")
        }
        var bytes: [UInt8] = []
        while bytes.count <= kind.maximumBytes {
            var chunk = [UInt8](repeating: 0, count: 16 * 1024)
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw unreadable(kind)
            }
            bytes += chunk[..<count]
        }
        throw Failure(
            text: "larger than \(Quantity.text(bytes: kind.maximumBytes)), "
                + "which no \(kind.noun) is")
    }

    /// The bytes as text, or the place of the first byte that is not UTF-8.
    package static func text(of bytes: [UInt8]) throws(Failure) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        var place = YAMLPlace(line: 1, column: 1)
        while case .scalarValue(let scalar) = decoder.decode(&iterator) {
            place.column += 1
            if scalar == "\n" { place = YAMLPlace(line: place.line + 1, column: 1) }
        }
        throw Failure(place: place, text: "not UTF-8 text; save the file as UTF-8")
    }

    private static func unreadable(_ kind: Kind) -> Failure {
        let code = errno
        let reason = String(cString: strerror(code))
        let hint =
            switch code {
            case ENOENT: "; check the path, or leave it out to run with the \(kind.substitute)"
            case EACCES: "; relayd's user must be able to read it"
            default: ""
            }
        return Failure(text: "cannot be read: \(reason)\(hint)")
    }
}
