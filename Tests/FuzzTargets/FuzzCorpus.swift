// Sources of inputs: what the fuzzer has kept and found, and what is made from recorded sessions and examples.

import Foundation
import NIOCore
import RelayTesting
import SDLProtocol

/// The folders Tests/Fixtures and Tests/Fixtures/fuzz.
package enum FuzzCorpus {
    static let fixtures = Checkout.fixtures

    package struct Input: Sendable, CustomStringConvertible {
        /// Name of a finding, or line of `corpus.txt`.
        package var description: String
        package var bytes: [UInt8]
    }

    /// The inputs kept for a target: each line of `corpus.txt` is an input in Base64; each other file is an
    /// input that once found something.
    package static func inputs(of target: String) throws -> [Input] {
        let folder = fixtures.appending(path: "fuzz/\(target)")
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return try files.sorted().flatMap { name -> [Input] in
            let data = try Data(contentsOf: folder.appending(path: name))
            guard name == "corpus.txt" else {
                return [Input(description: "\(target)/\(name)", bytes: Array(data))]
            }
            return try unpacked(data).enumerated().map { index, bytes in
                Input(description: "\(target)/corpus.txt:\(index + 1)", bytes: bytes)
            }
        }
    }

    private struct Malformed: Error {}

    private static func unpacked(_ corpus: Data) throws -> [[UInt8]] {
        try corpus.split(separator: UInt8(ascii: "\n")).map { line in
            guard let bytes = Data(base64Encoded: Data(line)) else { throw Malformed() }
            return Array(bytes)
        }
    }

    /// Writes the kept inputs of a target and its seeds into a folder, one file each, as libFuzzer expects
    /// them.
    package static func unpack(_ target: FuzzTarget, to folder: String) throws {
        let inputs = try inputs(of: target.name).map(\.bytes) + target.seeds()
        for (index, bytes) in inputs.enumerated() {
            try Data(bytes).write(to: URL(filePath: folder).appending(path: "kept-\(index)"))
        }
    }

    /// Writes the files of a folder into `corpus.txt`, smallest first, except inputs that already have a file
    /// of their own beside it.
    package static func pack(_ target: String, from folder: String) throws {
        let findings = Set(
            try inputs(of: target).filter { !$0.description.contains("corpus.txt") }.map(\.bytes))
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        let inputs = try files.map {
            try Data(contentsOf: URL(filePath: folder).appending(path: $0))
        }
        .filter { !$0.isEmpty && !findings.contains(Array($0)) }
        .sorted { ($0.count, $0.hashed) < ($1.count, $1.hashed) }
        let kept = fixtures.appending(path: "fuzz/\(target)")
        try FileManager.default.createDirectory(at: kept, withIntermediateDirectories: true)
        let text = inputs.map { $0.base64EncodedString() + "\n" }.joined()
        try Data(text.utf8).write(to: kept.appending(path: "corpus.txt"))
    }
}

extension Data {
    /// A sort key, so that the same inputs are always written in the same order.
    fileprivate var hashed: String { base64EncodedString() }
}

// MARK: - Seeds

/// Inputs made from recorded and constructed bytes.
enum FuzzSeeds {
    private static func file(_ path: String) -> [UInt8] {
        (try? Data(contentsOf: FuzzCorpus.fixtures.appending(path: path))).map(Array.init) ?? []
    }

    /// Frames of a recorded stream.
    private static func frames(_ path: String) -> [Frame] {
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
        decoder.append(ByteBuffer(bytes: file(path)))
        var frames: [Frame] = []
        while let frame = try? decoder.next() { frames.append(frame) }
        return frames
    }

    private static let captures = ["js-full-1", "js-killed-1", "js-core-stops-1"]

    /// Recorded sessions in pieces: operations for frames of the head unit and of the app.
    static func dialogues(headUnit: Int?, app: Int?) -> [[UInt8]] {
        captures.flatMap { name -> [[UInt8]] in
            let up = frames("captures/\(name).up.bin").filter { $0.payloadBytes < 2000 }
            let down = frames("captures/\(name).down.bin").filter { $0.payloadBytes < 2000 }
            var steps: [FuzzScript.Step] = []
            for index in 0..<max(up.count, down.count) {
                if let app, index < up.count { steps.append(step(app, up[index])) }
                if let headUnit, index < down.count { steps.append(step(headUnit, down[index])) }
            }
            return pieces(of: steps)
        }
            + examples.map { bytes in
                FuzzScript.bytes(
                    of: [headUnit, app].compactMap { $0 }.map { FuzzScript.Step($0, bytes) })
            }
    }

    private static func step(_ operation: Int, _ frame: Frame) -> FuzzScript.Step {
        FuzzScript.Step(operation, frame.wire.readableBytesView)
    }

    private static func pieces(of steps: [FuzzScript.Step]) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var piece: [UInt8] = []
        for step in steps {
            let bytes = FuzzScript.bytes(of: [step])
            if piece.count + bytes.count > FuzzTarget.scriptBytes {
                pieces.append(piece)
                piece = []
            }
            piece += bytes
        }
        return pieces + [piece]
    }

    /// Every line of hex-examples.txt.
    static let examples: [[UInt8]] = String(decoding: file("hex-examples.txt"), as: UTF8.self)
        .split(separator: "\n").filter { !$0.hasPrefix("#") }
        .compactMap { $0.split(separator: "|").last }
        .map { line in
            let digits = line.filter(\.isHexDigit).map { UInt8($0.hexDigitValue ?? 0) }
            return stride(from: 0, to: digits.count - 1, by: 2).map {
                digits[$0] << 4 | digits[$0 + 1]
            }
        }

    /// Payloads of control frames.
    static func documents() -> [[UInt8]] {
        let recorded = captures.flatMap { frames("captures/\($0).down.bin") }
        let constructed = examples.compactMap { bytes -> Frame? in
            var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
            decoder.append(ByteBuffer(bytes: bytes))
            return try? decoder.next()
        }
        return (recorded + constructed).filter { $0.type == .control && $0.payloadBytes > 4 }
            .map { Array($0.payload.readableBytesView) }
    }

    /// Parameters of recorded RPCs.
    static func parameters() -> [[UInt8]] {
        var parameters: [[UInt8]] = []
        for name in captures.flatMap({ ["\($0).up.bin", "\($0).down.bin"] }) {
            for frame in frames("captures/\(name)") where frame.type == .single {
                guard let rpc = try? RPCMessage(Message(single: frame)), rpc.jsonBytes < 4000 else {
                    continue
                }
                parameters.append(Array(rpc.parameters.bytes.readableBytesView))
            }
        }
        return parameters
    }

    static func specification() -> [[UInt8]] { [file("sample-spec.xml")] }

    /// The shipped configuration without its comments, whole and section by section.
    static func configuration() -> [[UInt8]] {
        let shipped = String(decoding: file("../../config/relayd.yaml"), as: UTF8.self)
        let lines = shipped.split(separator: "\n").map { $0.hasPrefix("#") ? $0.dropFirst() : $0 }
            .filter { $0.contains(":") }.map {
                $0.split(separator: " #").first.map(String.init) ?? ""
            }
        return [Array(lines.joined(separator: "\n").utf8)]
            + stride(from: 0, to: lines.count, by: 5).map { start in
                Array(lines[start..<min(start + 5, lines.count)].joined(separator: "\n").utf8)
            }
    }
}
