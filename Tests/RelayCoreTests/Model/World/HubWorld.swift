// The hub between apps and the stand-in for sdl_core, on embedded channels and a clock that moves
// when told: carries out the steps of a dialogue and shows the model the traffic.

import Logging
import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol

@testable import RelayCore

/// One dialogue as it runs.
final class HubWorld {
    let loop = EmbeddedEventLoop()
    let switchboard: Switchboard
    let setting: HubSetting
    var core: SDLCoreModel
    var model = HubModel()
    var apps: [WorldApp] = []
    var link: WorldLink?
    var random: SeededGenerator
    var lastNumber = 0
    /// What happened, for people to read; kept only when asked for.
    private(set) var story: [String] = []
    private let tellsStory: Bool
    var storedCount = 0
    /// Contents of files, by the correlation ID of their PutFile.
    var files: [Int32: ByteBuffer] = [:]
    var frames = 0
    /// Steps that did something.
    var steps = 0
    var didSomething = false
    private var attendance: (at: NIODeadline, task: Scheduled<Void>)?
    /// Until when the link takes nothing.
    var stalledUntil = NIODeadline.uptimeNanoseconds(0)
    /// Numbers the head unit's own notices.
    var lastNotice = 0
    /// What waits in the hub, and until when it may.
    var waits: [HubWait: NIODeadline] = [:]
    let recording: HubRecording?

    init(_ setting: HubSetting, tellsStory: Bool = false) throws {
        self.setting = setting
        self.tellsStory = tellsStory
        recording = setting.isRecorded ? HubRecording() : nil
        core = SDLCoreModel(habits: setting.habits, seed: setting.seed)
        random = SeededGenerator(seed: setting.seed ^ 0x55)
        switchboard = Switchboard(
            loop: loop, configuration: setting.configuration, accessoryAddress: "model:",
            tapQueue: Self.tapQueue, logger: Self.logger)
        recording?.begin(on: switchboard)
        loop.advanceTime(by: .seconds(1))
        model.isLossy = setting.isLossy
        model.mostFrames = setting.habits.framesPerSecond
        try openLink()
    }

    private static let tapQueue = TapQueue(maximumBytes: 0)
    private static let logger = Logger(label: "model") { _ in SwiftLogNoOpLogHandler() }

    func tell(_ text: @autoclosure () -> String) {
        guard tellsStory else { return }
        let time = Double(loop.now.uptimeNanoseconds) / 1e9
        let whole = Int(time * 1000)
        story.append("\(whole / 1000).\(String(whole % 1000 + 1000).dropFirst()) s  \(text())")
    }

    func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    // MARK: - The link

    func openLink() throws {
        guard link == nil else { return }
        if core.isStopping {
            tell("the head unit is started again")
            core.restart(at: loop.now)
        }
        let link = WorldLink(world: self, id: core.connect(at: loop.now))
        self.link = link
        model.now = loop.now
        model.linkOpened()
        tell("the link is open")
        try link.open(switchboard)
    }

    func closeLink() {
        guard let link else { return }
        tell("the link is lost")
        self.link = nil
        core.disconnected(link.id, at: loop.now)
        settle()
        noteLinkClosed()
        link.close()
        settle()
    }

    /// A write to the link has failed: the hub is in the middle of something.
    func linkBroke() {
        guard let link else { return }
        tell("a write finds that the link is lost")
        self.link = nil
        core.disconnected(link.id, at: loop.now)
        noteLinkClosed()
    }

    private func noteLinkClosed() {
        model.now = loop.now
        model.linkClosed()
        guard switchboard.configuration.whenLinkLost == .close else { return }
        for app in apps { model.apps[app.number]?.mayBeClosed = true }
    }

    /// Puts the head unit's output on the line, and lets some of it arrive.
    func listen(upTo bytes: Int = .max) {
        for output in core.takeOutput() {
            switch output {
            case .frame(let sent) where sent.connection == link?.id:
                tell("head unit says \(sent.frame)")
                link?.incoming(sent)
            case .close(let id) where id == link?.id:
                tell("the head unit closes the link")
                link?.arrive(upTo: .max)
                if !core.isStopping {
                    model.fail(.closed, "the head unit closed the link for all apps")
                }
                return closeLink()
            default: break
            }
        }
        link?.arrive(upTo: bytes)
        settle()
    }

    func settle() {
        model.settled()
        checkStored()
        checkCounted()
    }

    /// Checks that dropped frames are counted for their app, which is told.
    private func checkCounted() {
        for (number, app) in model.apps where app.dropped > 0 && app.isConnected {
            guard let handler = switchboard.apps[AppID(rawValue: UInt64(number))],
                handler.refusals < app.dropped
            else { continue }
            model.fail(
                .lostUp,
                "\(app.dropped) frames of app \(number) were dropped, and "
                    + "\(handler.refusals) counted")
        }
    }

    private func checkStored() {
        guard core.stored.count > storedCount else { return }
        for file in core.stored[storedCount...] {
            let text = "\(file.name) of \(file.appID), lives \(file.lives)"
            // The contents tell whose file it is. One app's file may have crossed the head unit's own end
            // of its session and the next grant of the number, and still be whole.
            if files[file.correlationID] != file.contents {
                model.fail(.mixture, "stored, but not as it was sent: \(text)")
            }
        }
        storedCount = core.stored.count
    }

    /// Lets everything that is on its way arrive, and the head unit answer, in both directions.
    func flow() {
        stalledUntil = loop.now
        let end = loop.now + .milliseconds(500)
        for _ in 0..<100_000 {
            let before = frames
            readRecording()
            speak()
            link?.drain(.max)
            core.advance(to: loop.now)
            listen()
            let isIdle = link.map { $0.isIdle } ?? true
            guard before == frames, isIdle else { continue }
            guard let next = core.nextDeadline, next <= end else { return }
            loop.advanceTime(to: max(next, loop.now))
            checkWaits()
        }
        model.fail(.left, "the traffic does not come to rest")
    }

    /// Reads the recording if the hub waits for it; takes no time.
    private func readRecording() {
        if switchboard.tap.isHolding { loop.run() }
    }

    /// Lets the line and the head unit go on by themselves, even in the middle of a long wait.
    func attend() {
        var due = core.nextDeadline
        if let link, link.isBusy {
            due = loop.now + (setting.passBytes == nil ? .zero : .milliseconds(5))
            if stalledUntil > loop.now { due = stalledUntil }
        }
        // The rest of what the head unit has said comes just as slowly.
        if setting.passBytes != nil, link?.hasMore == true {
            due = min(due ?? .distantFuture, loop.now + .milliseconds(5))
        }
        guard let due = due.map({ max($0, loop.now) }) else { return }
        if let attendance {
            guard due < attendance.at else { return }
            attendance.task.cancel()
        }
        let task = loop.scheduleTask(deadline: due) { [weak self] in
            guard let self else { return }
            attendance = nil
            link?.drain(setting.passBytes ?? .max)
            core.advance(to: loop.now)
            listen(upTo: setting.passBytes ?? .max)
            attend()
        }
        attendance = (due, task)
    }

    func pass(_ time: TimeAmount) {
        step()
        let end = loop.now + time
        // The head unit's answers come in between.
        while loop.now < end {
            var next = min(core.nextDeadline ?? end, end)
            // A slow line goes on all the time.
            if setting.passBytes != nil, link?.isIdle == false {
                next = min(next, loop.now + .milliseconds(5))
            } else if switchboard.sdl.output.waitingBytes > 0 || apps.contains(where: \.hasMore) {
                next = min(next, loop.now + .milliseconds(100))
            }
            if stalledUntil > loop.now { next = min(next, stalledUntil) }
            if switchboard.tap.isHolding { next = loop.now }
            // What the hub says at its wake-up has to arrive then.
            if let wakeUp = switchboard.wakeUp?.at, wakeUp > loop.now { next = min(next, wakeUp) }
            // A wait that ends in time has ended then.
            if let until = waits.values.min(), until >= loop.now {
                next = min(next, until + .nanoseconds(1))
            }
            loop.advanceTime(to: max(next, loop.now + .nanoseconds(1)))
            core.advance(to: loop.now)
            checkWaits()
            step()
        }
    }

    /// Does what goes on by itself.
    func step() {
        speak()
        if let passBytes = setting.passBytes {
            link?.drain(passBytes)
            listen(upTo: passBytes)
        } else {
            // An answer may make the hub go on at once.
            repeat {
                link?.drain(.max)
                listen()
            } while link?.canDrain == true
        }
    }

    // MARK: - Apps

    /// Brings the hub all that it reads, in one turn of its loop.
    private func speak() {
        for app in apps { app.push(.max) }
        loop.run()
    }

    func connect() throws -> WorldApp {
        lastNumber += 1
        let app = WorldApp(number: lastNumber, world: self)
        apps.append(app)
        tell("app \(app.number) connects")
        model.connected(app.number)
        try app.open(switchboard)
        return app
    }

    /// The connection has ended, whichever side ended it.
    func gone(_ app: WorldApp) {
        guard let place = apps.firstIndex(where: { $0 === app }) else { return }
        apps.remove(at: place)
        guard !app.hasLeft, model.apps[app.number]?.mayBeClosed != true else {
            return tell("app \(app.number) is gone")
        }
        // The hub notes the reason a little later.
        loop.execute { self.judgeEnd(of: app.number) }
    }

    private func judgeEnd(of number: HubModel.AppNumber) {
        let reason = switchboard.departures.last { $0.id.rawValue == number }?.reason
        tell("app \(number) is gone: \(reason.map { "\($0)" } ?? "no reason")")
        switch reason {
        case .silent, .noAccessory: return
        case .foreignFrame where switchboard.configuration.foreignFrames == .close: return
        default: model.fail(.closed, "app \(number) was closed: \(String(describing: reason))")
        }
    }
}

/// Ends a channel's outbound side: the hub's writes are looked at here and go no further.
final class Outlet: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    var onWrite: (ByteBuffer) -> Void = { _ in }
    var onFlush: () -> Void = {}
    var onEnd: () -> Void = {}
    /// Whether a read was asked for and not answered.
    var isOpen = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        onWrite(unwrapOutboundIn(data))
        promise?.succeed()
    }

    func flush(context: ChannelHandlerContext) { onFlush() }

    func read(context: ChannelHandlerContext) { isOpen = true }

    func channelInactive(context: ChannelHandlerContext) {
        onEnd()
        context.fireChannelInactive()
    }
}

extension Switchboard {
    /// The hub's SDL part, for tests that look into it.
    var sdl: SDLLanguage {
        guard let sdl = language as? SDLLanguage else { preconditionFailure("not SDL") }
        return sdl
    }
}
