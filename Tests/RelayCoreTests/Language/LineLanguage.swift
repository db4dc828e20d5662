// A second accessory language, as small as possible, to try out the hub's seam. It sees only as much of
// RelayCore as a module beside it would see.

import NIOCore
import RelayCore

/// Telemetry in lines. The accessory's lines go to every app, except for answers ("=…"), which go to the app
/// that asked first ("?…"). There are no sessions.
///
/// A slow app costs the others nothing: the link is never held. Lines that come while its socket is full are
/// lost to that app alone, and it is told how many.
final class LineLanguage: AccessoryLanguage {
    private unowned let hub: Switchboard
    private var link: LinkConnection?
    private var apps: [AppID: LineApp] = [:]
    private var askers: [AppID] = []
    private(set) var unflushedLinkBytes = 0
    private let welcome: Welcome

    /// What happens to an app when it connects.
    enum Welcome {
        case nothing
        /// A line, and one for the accessory.
        case words
        /// A line, and the end.
        case end
    }

    init(_ hub: Switchboard, welcome: Welcome = .nothing) {
        self.hub = hub
        self.welcome = welcome
    }

    // MARK: - Accessory → apps

    fileprivate func receiveFromAccessory(_ line: ByteBuffer) {
        hub.link.counters.framesIn += 1
        guard line.readableBytesView.first == UInt8(ascii: "=") else {
            for app in apps.values { app.offer(line, hub) }
            return
        }
        guard !askers.isEmpty, let asker = apps[askers.removeFirst()] else { return }
        asker.offer(line, hub)
    }

    // MARK: - Apps → accessory

    fileprivate func receive(_ line: ByteBuffer, from app: LineApp) {
        app.connection.counters.framesIn += 1
        if line.readableBytesView.first == UInt8(ascii: "?") { askers.append(app.connection.id) }
        say(line)
    }

    private func say(_ line: ByteBuffer) {
        link?.write(line)
        unflushedLinkBytes += line.readableBytes
    }

    fileprivate func tooLong(_ app: LineApp) {
        hub.close(app.connection, .messageTooLarge(bytes: app.lines.pending, limit: Lines.longest))
    }

    // MARK: - The house calls

    func linkOpened(_ link: LinkConnection) -> any LinkReader {
        self.link = link
        return LineLink(self)
    }

    func linkClosed(because reason: String) {
        link = nil
        askers = []
    }

    func linkTookAll() {}
    var isLinkHeld: Bool { false }

    func connected(_ app: AppConnection) -> any AppReader {
        let reader = LineApp(app, self)
        apps[app.id] = reader
        if welcome != .nothing { hub.send(ByteBuffer(string: "hello\n"), to: app) }
        if welcome == .words { say(ByteBuffer(string: "+\n")) }
        if welcome == .end { hub.close(app, .byOperator(nil)) }
        return reader
    }

    func disconnected(_ app: AppConnection) -> AppLeaving {
        apps.removeValue(forKey: app.id) == nil ? .unused : .ended
    }
    func blocked(_ app: AppConnection) { apps[app.id]?.isBlocked = true }

    func tookAll(_ app: AppConnection) {
        guard let reader = apps[app.id] else { return }
        hub.beginRead()
        reader.goOn(hub)
        hub.endRead()
    }

    func leave(_ app: AppConnection) {}

    func flushLink() {
        unflushedLinkBytes = 0
        link?.flush()
    }

    func readIsOver() {}
    var nextDeadline: NIODeadline? { nil }
    func advance() {}
    func reconfigure(_ configuration: RelayConfiguration) {}
    func describe(_ link: inout RelaySnapshot.Link) {}
    func describe(_ app: inout RelaySnapshot.App) { app.refusedFrames = apps[app.id]?.allLost ?? 0 }
    func leaveAll() { link?.write(ByteBuffer(string: "bye\n")) }
    var isAllSaid: Bool { true }
    /// Zero, because most apps only listen.
    var silentTimeout: TimeAmount { .zero }
    func refusal(_ reason: String) -> any ChannelHandler { LineRefusal("sorry: \(reason)\n") }
}

/// The decoder of the language.
private struct Lines {
    static let longest = 64
    private var bytes = ByteBuffer()
    var pending: Int { bytes.readableBytes }
    var isTooLong: Bool { pending > Self.longest }

    mutating func append(_ more: ByteBuffer) { bytes.writeImmutableBuffer(more) }

    mutating func next() -> ByteBuffer? {
        guard let end = bytes.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else {
            return nil
        }
        return bytes.readSlice(length: end - bytes.readerIndex + 1)
    }
}

private final class LineLink: LinkReader {
    private unowned let language: LineLanguage
    private var lines = Lines()

    init(_ language: LineLanguage) { self.language = language }

    func received(_ bytes: ByteBuffer) {
        lines.append(bytes)
        while let line = lines.next() { language.receiveFromAccessory(line) }
    }

    func waits() {}
    func stops() {}
}

private final class LineApp: AppReader {
    let connection: AppConnection
    private unowned let language: LineLanguage
    var lines = Lines()
    var isBlocked = false
    private var lost: UInt64 = 0
    private(set) var allLost: UInt64 = 0

    init(_ connection: AppConnection, _ language: LineLanguage) {
        self.connection = connection
        self.language = language
    }

    func received(_ bytes: ByteBuffer) { lines.append(bytes) }

    func passOn() {
        while connection.mayGoOn, let line = lines.next() { language.receive(line, from: self) }
        if lines.isTooLong { language.tooLong(self) }
    }

    /// Sends a line unless the socket is full.
    func offer(_ line: ByteBuffer, _ hub: Switchboard) {
        guard !isBlocked else {
            lost += 1
            allLost += 1
            return
        }
        hub.send(line, to: connection)
    }

    /// The socket takes bytes again.
    func goOn(_ hub: Switchboard) {
        isBlocked = false
        if lost > 0 { hub.send(ByteBuffer(string: "lost \(lost)\n"), to: connection) }
        lost = 0
    }

    func waits() {}
    func stops() {}
    func hungUp() {}
}

/// Refuses an app for which there is no room.
private final class LineRefusal: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let words: String

    init(_ words: String) { self.words = words }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: words)), promise: nil)
        context.close(promise: nil)
    }
}
