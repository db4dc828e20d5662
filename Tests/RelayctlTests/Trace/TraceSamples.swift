// Traces for tests, made from recorded sessions by the encoder with which relayd records.

import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLTraffic
import Testing
import Traces

@testable import relayctl

enum TraceSamples {
    static func header(masked: [String] = [], streams: TraceStreams = .all) -> TraceHeader {
        var header = TraceHeader(
            program: "relayd 0.9.0", accessory: "tcp:192.168.1.20:12345",
            started: "2026-11-23T10:00:00Z")
        header.masked = masked
        header.streams = streams
        return header
    }

    /// A trace of these items.
    ///
    /// - Parameter isClosed: Whether the trace ends properly.
    static func bytes(
        _ items: [TapItem], header: TraceHeader = header(), isClosed: Bool = true,
        notes: [(TraceRecord, WallTime)] = []
    ) -> ByteBuffer {
        var encoder = TraceEncoder(header, operatingSystem: "Linux")
        var buffer = ByteBuffer()
        let start = items.lazy.compactMap(\.time).first ?? WallTime(nanoseconds: 0)
        encoder.begin(started: "2026-11-23T10:00:00Z", at: start, into: &buffer)
        var end = start
        var notes = notes[...]
        for item in items {
            end = item.time ?? end
            while let note = notes.first, note.1 <= end {
                encoder.append(note.0, at: note.1, to: &buffer)
                notes = notes.dropFirst()
            }
            encoder.append(item, at: end, into: &buffer)
        }
        for note in notes { encoder.append(note.0, at: note.1, to: &buffer) }
        if isClosed { encoder.end(because: "stopped by hand", at: end, into: &buffer) }
        return buffer
    }

    static func bytes(_ capture: String) throws -> ByteBuffer {
        bytes(try Capture.items(capture))
    }

    /// Runs relayctl with a trace in a folder of its own.
    static func run(
        _ arguments: [String], on files: [String: ByteBuffer], isTerminal: Bool = false,
        check: (_ code: Int32, _ out: String, _ error: String, _ directory: TemporaryDirectory)
            throws
            -> Void
    ) async throws {
        try await TemporaryDirectory.run { directory in
            for (name, bytes) in files {
                try Data(bytes.readableBytesView).write(
                    to: URL(fileURLWithPath: directory.file(name)))
            }
            let recorder = Recorder()
            let words = arguments.map { word in
                files[word] == nil && !word.hasPrefix("@")
                    ? word
                    : directory.file(word.hasPrefix("@") ? String(word.dropFirst()) : word)
            }
            let code = await RelayCtl.execute(
                words, output: recorder.output(isTerminal: isTerminal))
            try check(code, recorder.text(), recorder.text(.error), directory)
        }
    }
}

extension TapItem {
    /// When it happened; nil for an item without a time of its own.
    var time: WallTime? {
        switch self {
        case .frames(let frames): frames.last?.time
        case .bytes(let run): run.time
        case .appConnected(_, _, let time), .appClosed(_, _, let time),
            .session(_, _, let time),
            .linkOpened(_, _, let time), .linkClosed(_, let time), .noticed(_, _, let time),
            .noted(_, let time):
            time
        case .missed: nil
        }
    }
}
