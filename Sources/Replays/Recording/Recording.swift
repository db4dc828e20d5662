import Synchronization
package import Traces

/// A file to replay, read piece by piece. Its calls block, so they belong on a thread that may.
package final class Recording: Sendable {
    /// The result of one read.
    package struct Batch: Sendable {
        package var steps: [RecordedStep] = []
        package var isLast = false
        /// Sessions of the recording that the head unit granted, so far.
        package var grantedSessions = 0
        /// Parameters whose values were overwritten, according to the recording.
        package var masked: [String] = []
    }

    private struct State: ~Copyable {
        var file: TraceFile
        var script: RecordingScript
        var hasEnded = false
        /// Why the file cannot be read any further.
        var failure: TraceFileError?
    }

    private let state: Mutex<State>
    package let path: String

    /// Limits of one batch: a few milliseconds.
    private static let batchEntries = 512
    private static let batchBytes = 4 << 20

    /// - Throws: `TraceFileError` when the file cannot be opened.
    package init(_ path: String, _ part: RecordingScript.Part) throws(TraceFileError) {
        self.path = path
        state = Mutex(State(file: try TraceFile(path), script: RecordingScript(part)))
    }

    /// - Throws: `TraceFileError` where the file is damaged, or is not a trace; everything before that has
    ///   been returned.
    package func next() throws(TraceFileError) -> Batch {
        try state.withLock { (state) throws(TraceFileError) -> Batch in
            if let failure = state.failure { throw failure }
            var batch = Batch()
            var bytes = 0
            var entries = 0
            while !state.hasEnded, entries < Self.batchEntries, bytes < Self.batchBytes {
                let next: TraceEntry?
                do throws(TraceFileError) {
                    next = try state.file.next()
                } catch {
                    guard entries > 0 else { throw error }
                    state.failure = error
                    break
                }
                guard let entry = next else {
                    state.hasEnded = true
                    break
                }
                entries += 1
                let before = batch.steps.count
                state.script.read(entry, into: &batch.steps)
                for step in batch.steps[before...] { bytes += step.weight }
            }
            batch.isLast = state.hasEnded
            batch.grantedSessions = state.script.grantedSessions
            batch.masked = state.script.masked
            return batch
        }
    }
}

extension RecordedStep {
    /// Approximate bytes of memory.
    package var weight: Int {
        switch content {
        case .began, .ended: RecordedMessage.overhead
        case .fromApp(let message), .fromHeadUnit(let message): message.weight
        }
    }
}
