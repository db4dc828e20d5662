import NIOCore

extension EventLoopFuture where Value == Void {
    /// Waits until the future has succeeded or failed, but no longer than `time`.
    ///
    /// - Returns: False if the time ran out first.
    func isOver(within time: Duration) async -> Bool {
        let isInTime = eventLoop.makePromise(of: Bool.self)
        // Not `Task.sleep`: it would start the system's thread pool (see `LoopExecutor`).
        let limit = eventLoop.scheduleTask(in: TimeAmount(time)) { isInTime.succeed(false) }
        whenComplete { _ in
            limit.cancel()
            isInTime.succeed(true)
        }
        return (try? await isInTime.futureResult.get()) ?? false
    }
}
