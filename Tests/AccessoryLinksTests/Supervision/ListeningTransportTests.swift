import Glibc
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import AccessoryLinks

// A transport that waits to be called, as a phone waits for its head unit.

@Suite("A link to a head unit that calls")
struct ListeningTransportTests {
    private static let here = "called:here"

    /// Runs a link whose accessory calls when the test says so.
    private func run(
        _ caller: Caller, _ body: (SupervisedLink) async throws -> Void
    ) async throws {
        let address = try AccessoryAddress(Self.here)
        try await SupervisedLink(CalledTransport(caller: caller), at: address).run(body)
    }

    @Test("it listens, and says where, until the head unit calls; then it listens again")
    func listens() async throws {
        let caller = Caller()
        try await run(caller) { link in
            try await link.waitUntilListening()
            #expect(link.states.value.last?.place == "the third door")
            try await caller.call()
            try await link.waitUntilOpen()
            try await #require(link.probe.seen.value.channel).close()
            try await link.waitUntilListening(count: 2)
        }
    }

    @Test("reopen is carried out while it listens")
    func reopens() async throws {
        let caller = Caller()
        try await run(caller) { link in
            try await link.waitUntilListening()
            link.supervisor.reopen()
            try await link.waitUntilListening(count: 2)
            #expect(caller.attempts.value == .init(begun: 2, ended: 1))
            #expect(link.states.value.compactMap(\.reason) == [])
            try await caller.call()
            try await link.waitUntilOpen()
        }
    }

    @Test("a stop while it listens, or while the head unit calls, leaves nothing open")
    func stops() async throws {
        let listening = Caller()
        try await run(listening) { link in try await link.waitUntilListening() }
        #expect(listening.attempts.value == .init(begun: 1, ended: 1))

        let called = Caller()
        var channel: (any Channel)?
        try await run(called) { link in
            try await link.waitUntilListening()
            try await called.call()
            try await link.probe.seen.wait(for: "the channel") { $0.channel != nil }
            channel = link.probe.seen.value.channel
        }
        let open = try #require(channel)
        try await withDeadline("the close") { try await open.closeFuture.get() }
    }

    @Test("what cannot be listened to is told, and tried again")
    func cannotListen() async throws {
        let caller = Caller()
        caller.refuse(LinkProblem(.busy, "somebody has the door"))
        try await run(caller) { link in
            try await link.waitUntilWaiting(.busy)
            caller.refuse(nil)
            try await link.waitUntilListening()
        }
    }

    @Test("what was asked for before a stop opens nothing after it")
    func reopenBeforeTheStop() async throws {
        let caller = Caller()
        let states = Watched<[ConnectionState]>([])
        let stop = Mutex<(@Sendable () -> Void)?>(nil)
        let supervisor = LinkSupervisor(
            transport: CalledTransport(caller: caller), address: try AccessoryAddress(Self.here),
            loop: MultiThreadedEventLoopGroup.singleton.next(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            configure: LinkProbe().setup,
            onStateChange: { state in
                states.update { $0.append(state) }
                if state.reason != nil { stop.withLock { $0 }?() }
            })
        let task = Task { await supervisor.run() }
        try await states.wait(for: "listening") { $0.last?.place != nil }
        stop.withLock {
            $0 = {
                task.cancel()
                supervisor.reopen()
            }
        }
        caller.hangUp()
        try await withDeadline("the supervisor's end") { await task.value }
        #expect(caller.attempts.value == .init(begun: 1, ended: 1))
    }
}

extension SupervisedLink {
    fileprivate func waitUntilListening(count: Int = 1) async throws {
        try await states.wait(for: "listening for the \(count). time") { states in
            states.count { $0.place != nil } == count && states.last?.place != nil
        }
    }
}

extension ConnectionState {
    /// The place where the transport listens.
    fileprivate var place: String? {
        if case .listening(let place, _) = self { place } else { nil }
    }
}

/// The test's accessory, which calls on request.
private final class Caller: Sendable {
    private struct State {
        var waiting: CheckedContinuation<Bool, Never>?
        var problem: LinkProblem?
    }
    struct Attempts: Equatable {
        var begun = 0
        var ended = 0
    }
    private let state = Watched(State())
    let attempts = Watched(Attempts())

    var problem: LinkProblem? { state.value.problem }

    /// From now on, listening fails with this problem; nil allows it again.
    func refuse(_ problem: LinkProblem?) { state.update { $0.problem = problem } }

    /// Calls as soon as the transport listens.
    func call() async throws {
        try await state.wait(for: "somebody who listens") { $0.waiting != nil }
        answer(true)
    }

    /// Ends the transport's listening without a call.
    func hangUp() { answer(false) }

    private func answer(_ isCalled: Bool) {
        state.update { $0.waiting.take()?.resume(returning: isCalled) }
    }

    /// Whether the accessory called before the task was cancelled.
    func called() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.update { $0.waiting = continuation }
                if Task.isCancelled { answer(false) }
            }
        } onCancel: {
            answer(false)
        }
    }
}

/// A transport that waits for a call at a place that does not exist.
private struct CalledTransport: AccessoryTransport {
    static let scheme = "called"
    static let usage = "called:here"
    static let summary = "an accessory that calls"

    let caller: Caller

    init(caller: Caller) { self.caller = caller }

    init(_ address: AccessoryAddress) throws(AddressError) { caller = Caller() }

    func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup
    ) async throws(LinkProblem) -> any Channel {
        try await open(on: loop, configure: configure) { _ in }
    }

    func open(
        on loop: any EventLoop, configure: @escaping ChannelSetup,
        listening: @escaping @Sendable (String) -> Void
    ) async throws(LinkProblem) -> any Channel {
        caller.attempts.update { $0.begun += 1 }
        defer { caller.attempts.update { $0.ended += 1 } }
        if let problem = caller.problem { throw problem }
        listening("the third door")
        guard await caller.called() else {
            throw LinkProblem(.closedHere, "relayd listens no more")
        }
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
            throw LinkProblem(.other, "no sockets")
        }
        // The other end stays open for as long as the test lasts, as a head unit's does.
        do {
            return try await ClientBootstrap(group: loop)
                .channelInitializer(configure)
                .withConnectedSocket(pair[0]).get()
        } catch {
            throw LinkProblem(.other, "\(error)")
        }
    }
}
