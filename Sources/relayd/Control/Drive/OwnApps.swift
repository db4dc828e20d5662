import ControlAPI
import Glibc
import NIOCore
import NIOPosix
import RelayCore
import SDLProtocol
import SampleApp

/// Apps that relayd itself plays, so that RPCs can be sent without a real app. Each registers on request, and stays
/// until it is told to leave, the head unit ends it or the link is lost. To the hub it is an app like any other, at
/// one end of a socket pair. Owned by `DriveHandlers`.
actor OwnApps {
    /// Maximum number of apps at a time.
    static let maximum = 8
    /// Their peer, as shown by `relayctl apps`.
    static let peer = "relayd"

    private struct Member {
        let app: AppID
        let channel: any Channel
        let handler: NIOLoopBound<SampleAppHandler>
        let registered: EventLoopFuture<Void>
        let outcome: EventLoopFuture<SampleApp.Outcome>
        /// Whether it has been told to leave.
        var isLeaving = false
    }

    private struct NotRegistered: Error {
        let reason: String
    }

    private let relay: Relay
    private let ended: @Sendable (AppID, _ name: String, _ reason: String?) -> Void
    private var members: [String: Member] = [:]
    /// Names of apps that are connecting, and are not members yet.
    private var coming: Set<String> = []

    /// - Parameter ended: Called for each app that has ended, with a reason if it was not told to leave.
    init(
        _ relay: Relay, ended: @escaping @Sendable (AppID, _ name: String, String?) -> Void
    ) {
        self.relay = relay
        self.ended = ended
    }

    /// Registers an app of that name, unless there is one already, and returns when the head unit has
    /// taken it.
    ///
    /// - Returns: Its number, and whether it is new.
    /// - Throws: `APIError` with a reason in words, such as why the head unit refused it.
    func register(_ configuration: SampleApp.Configuration) async throws -> (AppID, isNew: Bool) {
        let name = configuration.name
        while let member = members[name] {
            try checkSettled(name)
            try await registrationByOthers(of: member, name)
            // Meanwhile it may have left, or begun to.
            if let now = members[name], now.app == member.app, !now.isLeaving {
                return (member.app, false)
            }
        }
        try begin(name)
        defer { coming.remove(name) }
        let member = try await connect(configuration)
        try await wait(for: member.registered, name) {
            // The caller no longer waits for the app, and nobody else has asked for it.
            member.channel.close(promise: nil)
        }
        keep(member, name)
        return (member.app, true)
    }

    /// Connects an app of that name, without waiting for what it does then.
    ///
    /// - Throws: `APIError` if there is one already, or no place for it.
    func start(_ configuration: SampleApp.Configuration) async throws -> AppID {
        let name = configuration.name
        try checkSettled(name)
        guard members[name] == nil else {
            throw APIError(.conflict, "relayd is an app called \"\(name)\" already")
        }
        try begin(name)
        defer { coming.remove(name) }
        let member = try await connect(configuration)
        keep(member, name)
        return member.app
    }

    /// The names of the current apps.
    var names: [String] { members.keys.sorted() }

    /// Makes the app leave, and closes its connection if it does not. Does nothing if there is no
    /// such app. Afterwards the name is free.
    func end(_ name: String) async {
        guard let member = members[name] else { return }
        members[name]?.isLeaving = true
        relay.loop.execute { member.handler.value.leave() }
        // An app in the middle of its tasks does not leave: relayd waits no longer than a person would.
        let patience = relay.loop.scheduleTask(in: .seconds(3)) {
            member.channel.close(promise: nil)
        }
        _ = await goodbye(of: member, name)
        patience.cancel()
    }

    /// Makes the app unregister and end its session, and returns when it has done so. Afterwards the
    /// name is free.
    ///
    /// - Throws: `APIError` if relayd has no app of that name.
    func leave(_ name: String) async throws {
        guard let member = members[name] else {
            let names = members.keys.sorted().map { "\"\($0)\"" }
            throw APIError(
                .notFound,
                "relayd is no app called \"\(name)\"; "
                    + (names.isEmpty
                        ? "it is none at all" : "it is " + names.joined(separator: ", ")))
        }
        try checkSettled(name)
        members[name]?.isLeaving = true
        relay.loop.execute { member.handler.value.leave() }
        let outcome = try await goodbye(of: member, name).get()
        if case .failed(let reason) = outcome {
            throw APIError(.conflict, "\"\(name)\" is gone, but not as it should: \(reason)")
        }
    }

    /// Takes a place for an app that is about to connect.
    ///
    /// - Throws: `APIError` if there is none, or if an app of that name is coming or going.
    private func begin(_ name: String) throws(APIError) {
        try checkSettled(name)
        guard members.count + coming.count < Self.maximum else {
            let names = coming.union(members.keys).sorted().joined(separator: ", ")
            throw APIError(
                .conflict,
                "relayd is \(Self.maximum) apps already: \(names); have one leave first (relayctl send "
                    + "--as NAME --leave)")
        }
        coming.insert(name)
    }

    private func checkSettled(_ name: String) throws(APIError) {
        guard coming.contains(name) || members[name]?.isLeaving == true else { return }
        throw APIError(.conflict, "\"\(name)\" is coming or going just now; try again")
    }

    /// Waits until the head unit has taken an app that is not the caller's. When the caller is cancelled,
    /// the wait ends, and the app goes on.
    private func registrationByOthers(of member: Member, _ name: String) async throws(APIError) {
        let waiting = relay.loop.makePromise(of: Void.self)
        member.registered.cascade(to: waiting)
        try await wait(for: waiting.futureResult, name) {
            // Once the app is registered, this has no effect.
            waiting.fail(CancellationError())
        }
    }

    private func wait(
        for registration: EventLoopFuture<Void>, _ name: String,
        onCancel: @Sendable () -> Void
    ) async throws(APIError) {
        do {
            try await withTaskCancellationHandler {
                try await registration.get()
            } onCancel: {
                onCancel()
            }
        } catch {
            let reason = (error as? NotRegistered)?.reason ?? "\(error)"
            throw APIError(.conflict, "\"\(name)\" could not be registered: \(reason)")
        }
    }

    private func keep(_ member: Member, _ name: String) {
        members[name] = member
        Task(executorPreference: LoopExecutor.shared) {
            await self.goodbye(of: member, name)
        }
    }

    /// Waits until the app has ended, and removes it: nobody who has waited for its end finds it still
    /// there.
    @discardableResult
    private func goodbye(
        of member: Member, _ name: String
    ) async -> Result<SampleApp.Outcome, any Error> {
        let result: Result<SampleApp.Outcome, any Error>
        do {
            result = .success(try await member.outcome.get())
        } catch {
            result = .failure(error)
        }
        left(name, member.app, result)
        return result
    }

    private func left(
        _ name: String, _ app: AppID, _ result: Result<SampleApp.Outcome, any Error>
    ) {
        guard members[name]?.app == app else { return }
        members[name] = nil
        switch result {
        case .success(.finished): ended(app, name, nil)
        case .success(.failed(let reason)): ended(app, name, reason)
        case .failure(let error): ended(app, name, "\(error)")
        }
    }

    // MARK: The connection

    private func connect(_ configuration: SampleApp.Configuration) async throws -> Member {
        var ends: [CInt] = [-1, -1]
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        guard socketpair(AF_UNIX, CInt(kind), 0, &ends) == 0 else {
            throw APIError(
                .conflict, "no socket pair could be made: \(String(cString: strerror(errno)))")
        }
        let (relay, hubEnd, appEnd) = (relay, ends[0], ends[1])
        let app: AppID
        do {
            app = try await attach(hubEnd)
        } catch {
            close(appEnd)
            throw error
        }
        return try await relay.loop.flatSubmit {
            let registered = relay.loop.makePromise(of: Void.self)
            let outcome = relay.loop.makePromise(of: SampleApp.Outcome.self)
            let handler = SampleAppHandler(
                SampleApp(configuration: configuration), outcome: outcome,
                registered: { registered.succeed() }, show: { _ in })
            // Once the app is registered, this has no effect.
            outcome.futureResult.whenComplete { result in
                let reason =
                    switch result {
                    case .success(.failed(let reason)): reason
                    case .success(.finished): "it was over at once"
                    case .failure(let error): "\(error)"
                    }
                registered.fail(NotRegistered(reason: reason))
            }
            let bound = NIOLoopBound(handler, eventLoop: relay.loop)
            return ClientBootstrap(group: relay.loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(bound.value)
                    }
                }
                .withConnectedSocket(appEnd)
                .map { channel in
                    Member(
                        app: app, channel: channel, handler: bound,
                        registered: registered.futureResult,
                        outcome: outcome.futureResult)
                }
                .flatMapErrorThrowing { error in
                    outcome.fail(error)
                    throw error
                }
        }.get()
    }

    /// Attaches the socket to the hub as an app.
    private func attach(_ socket: CInt) async throws -> AppID {
        let relay = relay
        let number = relay.loop.makePromise(of: AppID?.self)
        do {
            _ = try await ClientBootstrap(group: relay.loop)
                .channelInitializer { channel in
                    let accepted = relay.configureOwnApp(channel, as: Self.peer)
                    number.completeWith(accepted)
                    return accepted.map { _ in }
                }
                .withConnectedSocket(socket).get()
        } catch {
            number.fail(error)
            throw APIError(.conflict, "relayd could not connect to itself: \(error)")
        }
        guard let app = try await number.futureResult.get() else {
            throw APIError(
                .conflict, "there is no place for another app (apps.maximum), or relayd is stopping"
            )
        }
        return app
    }
}
