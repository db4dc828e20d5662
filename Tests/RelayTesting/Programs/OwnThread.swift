// A thread of its own for a part of a test, so that nobody waits for somebody else's computing.

import Dispatch

/// Runs `work`, and all that it awaits, on a thread of its own.
///
/// All tests share as many threads as there are processors, and a thread stays with a test until that
/// awaits something. On two processors two tests that compute for seconds hold all others, and meanwhile
/// the clocks of the programs under test go on: on a busy machine a head unit's answer came 30 s late
/// like that. So this is for a test that computes for half a second or more, and for dialogues with a
/// program that has clocks. What a test records stays its own, unlike in `blocking`.
package func onOwnThread<Answer, Failure: Error>(
    _ work: () async throws(Failure) -> Answer
) async throws(Failure) -> Answer {
    try await withTaskExecutorPreference(OwnThread()) { () async throws(Failure) -> Answer in
        await moveToPreferredExecutor()
        return try await work()
    }
}

/// What is not `@concurrent` goes on where it is, until it has waited for something. An empty function
/// the compiler would leave out.
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
