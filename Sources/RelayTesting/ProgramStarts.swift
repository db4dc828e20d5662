// Keeps programs that are being started away from sockets that are being closed.

/// Between its fork and its exec a program has a copy of every descriptor of this process. A socket
/// that a test closes in this moment goes on listening until the exec, and its port is in use.
package enum ProgramStarts {
    private static let turns = Turns()

    /// Runs `body` while no program is being started: what it closes is closed. The body starts none
    /// itself.
    package static func held<Answer, Failure: Error>(
        _ body: () async throws(Failure) -> Answer
    ) async throws(Failure) -> Answer {
        await turns.take()
        do throws(Failure) {
            let answer = try await body()
            await turns.give()
            return answer
        } catch {
            await turns.give()
            throw error
        }
    }
}

/// One at a time, in the order in which they come.
private actor Turns {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func give() {
        guard !waiting.isEmpty else {
            isTaken = false
            return
        }
        waiting.removeFirst().resume()
    }
}
