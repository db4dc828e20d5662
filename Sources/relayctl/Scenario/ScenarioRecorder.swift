import ControlAPI
import Glibc
import NIOConcurrencyHelpers
import NIOCore

/// Writes the traffic during a scenario into a trace of its own, from relayd's live recording. Used by
/// `ScenarioRunner`.
final class ScenarioRecorder: Sendable {
    private let client: ControlClient
    private let path: String
    private let file: RecordingFile
    private let state = NIOLockedValueBox(State())
    private let begun: EventLoopPromise<Void>

    private struct State {
        var task: Task<Void, Never>?
        var problem: String?
        var pieces = 0
        var hasBegun = false
    }

    private final class RecordingFile: Sendable {
        let descriptor: Int32

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// Silence after which the last frame has arrived: relayd writes each within milliseconds.
    private static let quiet = Duration.milliseconds(200)
    private static let longestQuiet = 25

    /// - Throws: `Problem` when the file cannot be created.
    init(_ path: String, _ client: ControlClient) throws(Problem) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Problem(
                description: "\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
        file = RecordingFile(descriptor)
        (self.path, self.client) = (path, client)
        begun = client.eventLoopGroup.next().makePromise()
    }

    /// Returns when relayd is recording.
    func begin() async throws {
        let task = Task {
            do {
                let end = try await client.bytes(of: Routes.recordLive) { piece, _ in
                    self.take(piece)
                    return !Task.isCancelled
                }
                if case .brokenOff(let socket) = end {
                    throw ControlClientError.brokenOff(socket)
                }
                self.ended(nil)
            } catch {
                self.ended(error)
            }
        }
        state.withLockedValue { $0.task = task }
        try await begun.futureResult.get()
    }

    private func take(_ piece: ByteBuffer) {
        let problem = piece.withUnsafeReadableBytes { all -> String? in
            var rest = all[...]
            while !rest.isEmpty {
                let bytes = UnsafeRawBufferPointer(rebasing: rest)
                let count = write(file.descriptor, bytes.baseAddress, bytes.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    return "\(path) cannot be written: \(String(cString: strerror(errno)))"
                }
            }
            return nil
        }
        let isFirst = state.withLockedValue { state in
            state.problem = state.problem ?? problem
            state.pieces += 1
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
        if isFirst { begun.succeed() }
    }

    private func ended(_ error: (any Error)?) {
        let isFirst = state.withLockedValue { state in
            defer { state.hasBegun = true }
            if let error, !(error is CancellationError) {
                state.problem = state.problem ?? "\(path) is incomplete: \(error)"
            }
            return !state.hasBegun
        }
        guard isFirst else { return }
        begun.fail(error ?? Problem(description: "relayd has ended the recording"))
    }

    /// Ends the recording when the traffic so far has been written.
    ///
    /// - Returns: Why the trace is incomplete.
    func end() async -> String? {
        var pieces = -1
        for _ in 0..<Self.longestQuiet {
            let now = state.withLockedValue { $0.pieces }
            if now == pieces { break }
            pieces = now
            try? await Task.sleep(for: Self.quiet)
        }
        return state.withLockedValue { state in
            state.task?.cancel()
            return state.problem
        }
    }
}
