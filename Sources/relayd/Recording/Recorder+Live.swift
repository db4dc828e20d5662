import ControlAPI
import NIOCore
import RelayCore
import Traces

extension Recorder {
    /// Bytes a slow client may be behind; further frames are dropped, and marked by a gap.
    private static let liveBytes = 16 << 20
    /// Bytes written at once.
    private static let pieceBytes = 256 << 10

    /// Writes a trace of the traffic from now on, until the client leaves or relayd stops. Nobody waits for
    /// the client.
    ///
    /// - Parameter limit: Time after which it ends by itself; nil for never.
    func live(into writer: ResponseWriter, for limit: Duration? = nil) async throws {
        let queue = TapQueue(maximumBytes: Self.liveBytes)
        let policy = policy
        watch(1)
        defer { watch(-1) }
        try await relay.attach(queue, policy.livePolicy)
        let alarm = limit.map { limit in
            LoopExecutor.shared.loop.scheduleTask(in: TimeAmount(limit)) { queue.finish() }
        }
        try await withTaskCancellationHandler {
            defer {
                alarm?.cancel()
                detachLater(queue)
            }
            let reason = limit == nil ? "relayd stopped" : "the time is over"
            try await write(
                header(policy, startedAt: .now), from: queue, into: writer, endingBecause: reason)
        } onCancel: {
            queue.finish()
        }
    }

    private func write(
        _ header: TraceHeader, from queue: TapQueue, into writer: ResponseWriter,
        endingBecause reason: String
    ) async throws {
        var encoder = TraceEncoder(header, operatingSystem: SystemName.current)
        var buffer = ByteBuffer()
        encoder.begin(started: "\(Timestamp.now)", at: .now(), into: &buffer)
        try await writer.write(buffer)
        buffer.clear()
        while let items = await queue.nextBatch(atMost: Self.pieceBytes) {
            for item in items {
                encoder.append(item, at: .now(), into: &buffer)
                guard buffer.readableBytes >= Self.pieceBytes else { continue }
                try await writer.write(buffer)
                buffer.clear()
            }
            if buffer.readableBytes > 0 { try await writer.write(buffer) }
            buffer.clear()
        }
        encoder.end(because: reason, at: .now(), into: &buffer)
        try await writer.write(buffer)
    }

    /// Works even if the client has left and its task is cancelled.
    private func detachLater(_ queue: TapQueue) {
        let relay = relay
        Task(executorPreference: LoopExecutor.shared) { try? await relay.detach(queue) }
    }
}
