// A thread of its own for a part of a test, so that no test waits for another's computation.

import Dispatch

/// Runs `work`, and all that it awaits, on a thread of its own.
///
/// All tests share as many threads as there are processors, and a thread stays with a test until the test
/// awaits something. On two processors, two tests that compute for seconds hold up all others, while the
/// clocks of the programs under test run on: on a busy machine a head unit's answer once came 30 s late.
/// Meant for a test that computes for half a second or more, and for dialogues with a program that has
/// clocks. What a test records stays its own, unlike in `blocking`.
package func onOwnThread<Answer, Failure: Error>(
    _ work: () async throws(Failure) -> Answer
) async throws(Failure) -> Answer {
    try await withTaskExecutorPreference(OwnThread()) { () async throws(Failure) -> Answer in
        await moveToPreferredExecutor()
        return try await work()
    }
}

/// A function that is not `@concurrent` stays on its thread until it has awaited something. The compiler
/// would leave out a call of an empty function.
@concurrent private func moveToPreferredExecutor() async {
    withUnsafeCurrentTask { _ in }
}

/// A serial queue has a thread for as long as it has work, however many threads there are already.
private final class OwnThread: TaskExecutor {
    private let queue = DispatchQueue(label: "relayd.test.own-thread")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
