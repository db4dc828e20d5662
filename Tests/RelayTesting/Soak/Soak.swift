// Many apps that come and die at random for as long as wanted, and a head unit that is unplugged now
// and then, around any relay; `ProgramTests` and `Scripts/bench soak` run it against the built relayd.

package import NIOCore
import NIOPosix

/// What a soak does.
package struct SoakOptions: Sendable {
    /// Decides what every app does; when it does so is up to the machine.
    package var seed: UInt64
    /// The number of apps at any time; one that has died comes back at once.
    package var apps: Int
    /// How often the head unit hangs up; nil for never.
    package var replugEvery: TimeAmount?
    /// How many of the apps are called "Victim …": fault rules may take any of their Shows, and they say goodbye
    /// in order, so that the books can be closed.
    package var victims: Int

    package init(seed: UInt64, apps: Int, replugEvery: TimeAmount? = nil, victims: Int = 0) {
        self.seed = seed
        self.apps = apps
        self.replugEvery = replugEvery
        self.victims = victims
    }
}

/// What happened in a soak.
package struct SoakTally: Sendable {
    package var lives = 0
    package var framesFromApps = 0
    package var bytesFromApps = 0
    package var framesToApps = 0
    package var bytesToApps = 0
    package var replugs = 0
    /// How lives ended.
    package var endings: [String: Int] = [:]
    /// Lives whose every frame is known to have arrived.
    package var wholeLives = 0
    /// The books of the victims' lives that said goodbye.
    package var victims = SoakBooks()
    /// How often something happened that must not, by kind.
    package var faults: [SoakFault: Int] = [:]
    /// The first faults of each kind, in a sentence each.
    package var faultExamples: [String] = []
}

/// What became of the frames that victims of fault rules have sent.
package struct SoakBooks: Sendable {
    package var sent = 0
    package var received = 0
    /// Shows that were answered; the head unit of a soak answers none.
    package var answered = 0
}

/// What must not happen in a soak. Kinds are counted separately so that a flood of one hides no other.
package enum SoakFault: String, Hashable, Sendable {
    case wrongFrame = "a frame with wrong bytes, of another app, or out of order"
    case missingFrames = "frames of an orderly life missing"
    case garbage = "bytes that are no frame"
    case wrongSession = "a session that is none, or of another app"
    case closedByRelay = "closed by the relay"
    case couldNotConnect = "could not connect"
    case hung = "hung"
}

/// A soak that has been set up: its head unit listens.
package final class Soak: Sendable {
    package let accessoryPort: Int
    private let world: NIOLoopBound<SoakWorld>
    private let server: any Channel

    private init(world: NIOLoopBound<SoakWorld>, server: any Channel) {
        self.world = world
        self.server = server
        accessoryPort = server.localAddress?.port ?? 0
    }

    package static func start(_ options: SoakOptions) async throws -> Soak {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let world = try await loop.submit {
            NIOLoopBound(SoakWorld(options, loop: loop), eventLoop: loop)
        }.get()
        let server = try await ServerBootstrap(group: loop, childGroup: loop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        SoakHeadUnit(world: world.value))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return Soak(world: world, server: server)
    }

    /// Lets the apps live for `duration`, then say goodbye; returns when the head unit has no session.
    ///
    /// - Parameter isEnough: Asked once the time is over: a busy machine gets more time, up to
    ///   `SoakWorld.patience`, until enough has happened.
    /// - Returns: What happened in this run.
    package func run(
        appPort: Int, for duration: TimeAmount,
        until isEnough: @escaping @Sendable (SoakTally) -> Bool = { _ in true }
    ) async throws -> SoakTally {
        let world = world
        return try await server.eventLoop.flatSubmit {
            world.value.run(appPort: appPort, for: duration, until: isEnough)
        }.get()
    }

    package func close() async {
        try? await server.close()
    }
}

/// What the apps and the head unit of a soak share. Lives on one event loop.
final class SoakWorld {
    let loop: any EventLoop
    let options: SoakOptions
    var tally = SoakTally()
    private(set) var isStopping = false
    private(set) var appPort = 0
    /// Counts the links: an app that outlives one may be closed.
    var links = 0
    /// False from when the head unit hangs up until it is called again.
    var isPlugged = false
    weak var headUnit: SoakHeadUnit?
    private var running = 0
    private var apps: [SoakApp] = []
    private var done: EventLoopPromise<SoakTally>?
    /// Frames sent in lives that ended in an orderly way, and frames that the head unit got of them,
    /// by life; each is kept until the other is known.
    private var sent: [UInt32: UInt32] = [:]
    private var received: [UInt32: UInt32] = [:]

    /// Nothing in a soak takes as long, however busy the machine.
    static let patience: TimeAmount = FramePeer.patience
    /// Time between two checks whether enough has happened.
    private static let lookInterval: TimeAmount = .milliseconds(200)
    /// How many examples of each kind are kept.
    private static let faultExamples = 5

    init(_ options: SoakOptions, loop: any EventLoop) {
        self.options = options
        self.loop = loop
        apps = (0..<options.apps).map { SoakApp(number: $0, world: self) }
    }

    func run(
        appPort: Int, for duration: TimeAmount, until isEnough: @escaping (SoakTally) -> Bool
    ) -> EventLoopFuture<SoakTally> {
        let promise = loop.makePromise(of: SoakTally.self)
        self.appPort = appPort
        (done, isStopping, tally) = (promise, false, SoakTally())
        (sent, received) = ([:], [:])
        running = apps.count
        for app in apps { app.live() }
        let latest = NIODeadline.now() + duration + Self.patience
        after(duration) { self.stop(when: isEnough, atTheLatest: latest) }
        planReplug()
        return promise.futureResult
    }

    private func stop(when isEnough: @escaping (SoakTally) -> Bool, atTheLatest latest: NIODeadline)
    {
        guard !isEnough(tally), NIODeadline.now() < latest else {
            isStopping = true
            return
        }
        after(Self.lookInterval) { self.stop(when: isEnough, atTheLatest: latest) }
    }

    func after(_ delay: TimeAmount, _ action: @escaping () -> Void) {
        loop.assumeIsolated().scheduleTask(in: delay, action)
    }

    func fault(_ kind: SoakFault, _ text: String) {
        tally.faults[kind, default: 0] += 1
        if tally.faults[kind, default: 0] <= Self.faultExamples { tally.faultExamples.append(text) }
    }

    private func planReplug() {
        guard let every = options.replugEvery else { return }
        after(every) {
            guard !self.isStopping else { return }
            self.tally.replugs += 1
            self.headUnit?.unplug()
            self.planReplug()
        }
    }

    // MARK: Accounts

    func isVictim(_ life: UInt32) -> Bool { life / SoakApp.livesPerApp < options.victims }

    /// An app closed in an order that lets every frame arrive.
    func appLeft(_ life: UInt32, sent count: UInt32) {
        guard !isVictim(life) else {
            tally.victims.sent += Int(count)
            return
        }
        guard let got = received.removeValue(forKey: life) else {
            sent[life] = count
            return
        }
        compare(life, sent: count, received: got)
    }

    /// The head unit was told that the app has left.
    func sessionEnded(_ life: UInt32, received count: UInt32) {
        guard !isVictim(life) else {
            tally.victims.received += Int(count)
            return
        }
        guard let count2 = sent.removeValue(forKey: life) else {
            received[life] = count
            return
        }
        compare(life, sent: count2, received: count)
    }

    private func compare(_ life: UInt32, sent: UInt32, received: UInt32) {
        guard sent == received else {
            return fault(
                .missingFrames, "life \(life): the head unit got \(received) of \(sent) frames")
        }
        tally.wholeLives += 1
    }

    // MARK: The end

    /// An app has ended its last life.
    func appStopped() {
        running -= 1
        if running == 0 { awaitFarewells(until: .now() + Self.patience) }
    }

    private func awaitFarewells(until deadline: NIODeadline) {
        let left = headUnit?.openSessions ?? 0
        guard left > 0, NIODeadline.now() < deadline else {
            if left > 0 { fault(.hung, "\(left) sessions were never ended") }
            done?.succeed(tally)
            done = nil
            return
        }
        after(.milliseconds(10)) { self.awaitFarewells(until: deadline) }
    }
}
