import ArgumentParser
import ControlAPI
import Foundation
import Logging
import RelayTesting
import SDLProtocol
import Synchronization
import Testing

@testable import relayd

// Loading a user's RPC specification, or refusing it with the reason while relayd continues.

@Suite struct SpecificationFileTests {
    private let sample = Checkout.fixtures.appending(path: "sample-spec.xml").path

    private func inForce(_ path: String) -> (SpecificationFile.InForce, [String]) {
        let lines = LogLines()
        var config = Config()
        config.rpcSpec = path
        return (SpecificationFile.inForce(config, logger: lines.logger), lines.all)
    }

    @Test("a specification is used instead of the built-in one, and the log says which")
    func isUsed() {
        let (found, lines) = inForce(sample)
        #expect(found.report == SpecificationReport(version: "3.2.1", file: sample))
        #expect(found.validator?.catalogue.version == SDLVersion(3, 2, 1))
        #expect(
            lines == [
                "info RPC specification 3.2.1 from \(sample): 3 messages, 1 structs, 2 enumerations"
            ])
    }

    @Test("without one the built-in specification is used, or none")
    func builtIn() {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var config = Config()
        let builtIn = SpecificationFile.inForce(config, logger: logger)
        #expect(builtIn.validator?.catalogue == RPCCatalogue.builtIn)
        #expect(builtIn.report == SpecificationReport(version: "8.0.0"))
        config.rpcValidation = false
        let off = SpecificationFile.inForce(config, logger: logger)
        #expect(off.validator == nil && off.report == nil)
    }

    @Test("a file that is none is named with line and reason, and the built-in one is kept")
    func refused() throws {
        try ScratchDirectory.use { directory in
            let path = directory + "/spec.xml"
            try "<interface version=\"9.0\">\n<struct/>\n</interface>".write(
                toFile: path, atomically: true, encoding: .utf8)
            let (kept, lines) = inForce(path)
            #expect(kept.validator?.catalogue == RPCCatalogue.builtIn)
            #expect(
                kept.report
                    == SpecificationReport(
                        version: "8.0.0", problem: "\(path):2: <struct>: no name"))
            #expect(
                lines == [
                    "error rpc_spec: \(path):2: <struct>: no name; using the built-in RPC "
                        + "specification 8.0.0"
                ])
            let (_, missing) = inForce(directory + "/none.xml")
            #expect(
                missing == [
                    "error rpc_spec: \(directory)/none.xml: cannot be read: No such file or "
                        + "directory; check the path, or leave it out to run with the built-in "
                        + "specification; using the built-in RPC specification 8.0.0"
                ])
            let (_, directories) = inForce(directory)
            #expect(directories.first?.contains("not a regular file; name an XML file") == true)
        }
    }

    @Test("--check-config reports a specification that is none")
    func checkConfig() throws {
        try ScratchDirectory.use { directory in
            let (file, spec) = (directory + "/relayd.yaml", directory + "/spec.xml")
            try "rpc_spec: \(spec)\n".write(toFile: file, atomically: true, encoding: .utf8)
            try "<!DOCTYPE a>".write(toFile: spec, atomically: true, encoding: .utf8)
            let arguments = try Arguments.parse(["--config", file])
            let bad = arguments.checkConfig(environment: [:])
            #expect(bad.exitCode == ConfigErrors.exitCode)
            #expect(
                bad.output
                    == "rpc_spec: \(spec):1: document types and entity declarations are not supported"
            )
            try FileManager.default.removeItem(atPath: spec)
            try FileManager.default.copyItem(atPath: sample, toPath: spec)
            #expect(arguments.checkConfig(environment: [:]).exitCode == 0)
        }
    }
}

/// Keeps the logged lines.
private final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(lines: self) }
    }

    private struct Handler: LogHandler {
        let lines: LogLines
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) {
            lines.lines.withLock { $0.append("\(event.level) \(event.message)") }
        }
    }
}
