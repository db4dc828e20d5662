// The tests' own kit, where other tests rely on it without checking it.

import Foundation
import RelayTesting
import Synchronization
import Testing

@Suite("The tests' kit")
struct TestKitTests {
    @Test("who computes on a thread of their own holds up nobody")
    func ownThread() async {
        let isOver = Flag()
        let waited = await withTaskGroup(of: Bool.self) { group in
            // More tasks than there are threads for all tests together.
            for _ in 0...ProcessInfo.processInfo.activeProcessorCount {
                group.addTask {
                    await onOwnThread {
                        let limit = ContinuousClock.now + .seconds(120)
                        while !isOver.isSet {
                            guard ContinuousClock.now < limit else { return false }
                        }
                        return true
                    }
                }
            }
            group.addTask {
                isOver.set()
                return true
            }
            return await group.reduce(true) { $0 && $1 }
        }
        #expect(waited, "the others had their turn only after the computing")
    }

    @Test("a port is free as soon as its listener is closed, also while programs are being started")
    func ports() async throws {
        try await UnusedPort.run { port in
            let isOver = Flag()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { isOver.set() }
                    for _ in 0..<50 {
                        _ = try await ChildProcess.run(
                            "true", [], environment: Program.environment())
                    }
                }
                while !isOver.isSet {
                    try await FakeAccessory.run(port: port) { #expect($0.port == port) }
                }
                try await group.waitForAll()
            }
        }
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }
}
