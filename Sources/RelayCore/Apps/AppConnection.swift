import Glibc
package import NIOCore

/// One app's connection, whatever language is spoken on it: its socket, its pauses, its queue and its end.
/// Lives on the link's event loop; owned by its channel and the hub.
///
/// Holds back reads from its socket while the app is paused, so that back pressure reaches the app's own TCP
/// window, and closes so that the last words arrive. Its reader decides what its bytes mean.
package final class AppConnection: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    package let id: AppID
    package let peer: String
    /// Where the connection came in, as the configuration names it; empty for a systemd socket.
    package let entrance: String
    package let connectedAt: WallTime
    package var counters = TrafficCounters()
    package private(set) var closeReason: CloseReason?
    /// Units that were refused.
    package var refusals: UInt64 = 0
    /// Why its latest unit was refused, if nothing else has gone wrong since. Put into words only on demand:
    /// an app may send thousands of such units a second.
    package var latestRefusal: DropReason?
    private var problem: String?
    /// Whether anything was written since the last flush.
    var needsFlush = false
    /// Units that have not been handed to the channel yet.
    private var run = WriteRun()

    private unowned let hub: Switchboard
    /// Set from the start of the connection to its end.
    private var reader: (any AppReader)?
    private let lingering: LingeringClose
    private var pauses: Pauses = []
    /// Runs until the first whole unit has come.
    private var silence: Scheduled<Void>?
    private var isReadHeld = false
    private var isPumping = false
    /// Whether its socket did not take all of the last flush.
    private var isBehind = false
    /// The connection is closed, or about to be; units that came before are still passed on.
    private var hasEnded = false
    private var context: ChannelHandlerContext?

    /// Why the app is not read at the moment.
    package struct Pauses: OptionSet {
        package var rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Too many of its bytes wait for the link.
        package static let link = Self(rawValue: 1)
        /// The app nears the rate that the accessory tolerates.
        package static let rate = Self(rawValue: 2)
        /// A sink of the tap that may miss nothing is full.
        package static let tap = Self(rawValue: 4)
        /// Fault rules hold as many of its bytes as may wait for the link.
        package static let fault = Self(rawValue: 8)
    }

    init(
        id: AppID, peer: String, entrance: String = "", connectedAt: WallTime, hub: Switchboard
    ) {
        self.id = id
        self.peer = peer
        self.entrance = entrance
        self.connectedAt = connectedAt
        self.hub = hub
        lingering = LingeringClose(patience: hub.configuration.lingerPatience)
    }

    /// The last thing that went wrong for this app, in a sentence.
    package var lastProblem: String? {
        get { latestRefusal.map { "frame refused: \($0)" } ?? problem }
        set {
            problem = newValue
            latestRefusal = nil
        }
    }

    // MARK: Life

    package func channelActive(context: ChannelHandlerContext) {
        self.context = context
        let timeout = hub.language.silentTimeout
        if timeout > .zero {
            silence = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) {
                self.silence = nil
                self.hub.silent(self, for: timeout)
            }
        }
        let reader = hub.connected(self)
        // The app may already have been sent away.
        if self.context != nil { self.reader = reader }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        lingering.cancel()
        stopWaiting()
        hub.beginRead()
        reader?.hungUp()
        pump()
        leave()
        hub.endRead()
        // Nothing waits for the app to read any more.
        if self.context != nil { hub.tookAll(self) }
    }

    private func stopWaiting() {
        hasEnded = true
        pauses = []
        reader?.stops()
        silence?.cancel()
        silence = nil
    }

    /// Leaves after the last unit; the connection may end while units are being passed on.
    private func leave() {
        guard hasEnded, !isPumping, pauses.isEmpty, context != nil else { return }
        context = nil
        hub.disconnected(self, closeReason)
        reader = nil
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        close(
            (error as? IOError)?.errnoCode == ECONNRESET
                ? .reset : .connectionError(ErrorWords.text(error, by: hub.language.clientName)))
    }

    /// The hub is done with the app at once; the connection ends when the app has read the last words.
    package func close(_ reason: CloseReason) {
        guard let context, closeReason == nil else { return }
        closeReason = reason
        guard !hasEnded else {
            pauses = []
            return leave()
        }
        // Never after anything that a head unit has said.
        if counters.framesOut == 0, let words = reason.lastWords(dashboard: hub.dashboardURL) {
            context.write(wrapOutboundOut(words), promise: nil)
        }
        flush()
        // The flush may have found that the app is gone.
        guard self.context != nil else { return }
        guard reason.leavesTimeForLastWords else { return context.close(promise: nil) }
        stopWaiting()
        lingering.begin(context)
        if isReadHeld {
            isReadHeld = false
            context.read()
        }
        leave()
    }

    // MARK: App → link

    /// Limits a read to this many bytes. All units of a read are passed on before anything else happens on
    /// the loop, so a language whose units are small, and cost more than a frame, asks for less than there
    /// is.
    package func readPieces(of bytes: Int) {
        let allocator = FixedSizeRecvByteBufferAllocator(capacity: bytes)
        try? context?.channel.syncOptions?.setOption(.recvAllocator, value: allocator)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Anything after the last words is thrown away.
        guard closeReason == nil else { return }
        hub.beginRead()
        reader?.received(unwrapInboundIn(data))
        pump()
        if silence != nil, counters.framesIn > 0 {
            silence?.cancel()
            silence = nil
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        hub.endAppRead()
        if self.context != nil { reader?.waits() }
    }

    package func read(context: ChannelHandlerContext) {
        if pauses.isEmpty { context.read() } else { isReadHeld = true }
    }

    /// Has whole units passed on until none is left or the app has to pause.
    private func pump() {
        guard closeReason == nil, !isPumping else { return }
        isPumping = true
        reader?.passOn()
        isPumping = false
        leave()
    }

    /// Whether the app is neither paused nor closed.
    package var mayGoOn: Bool { pauses.isEmpty && closeReason == nil }

    /// Pauses the app. An app that is gone need not wait for the link: its last words go before its farewell.
    package func pause(_ reason: Pauses) {
        guard !hasEnded || reason == .rate else { return }
        pauses.insert(reason)
        reader?.stops()
    }

    /// Continues with what was read before the pause, then with reading.
    package func resume(_ reason: Pauses) {
        guard pauses.contains(reason) else { return }
        pauses.remove(reason)
        guard pauses.isEmpty else { return }
        hub.beginRead()
        pump()
        hub.endRead()
        if pauses.isEmpty, isReadHeld {
            isReadHeld = false
            context?.read()
        }
        if context != nil { reader?.waits() }
    }

    package var isPaused: Bool { !pauses.isEmpty }

    func isPaused(_ reason: Pauses) -> Bool { pauses.contains(reason) }

    // MARK: Link → app

    /// - Parameter unit: A whole unit. Units that were adjacent in the same read leave in one write.
    @inline(__always)
    func send(_ unit: ByteBuffer) {
        counters.sent(unit.readableBytes)
        guard !isBehind else { return add(unit.keptCheaply) }
        add(unit)
    }

    @inline(__always)
    private func add(_ unit: ByteBuffer) {
        if let before = run.add(unit) { context?.write(wrapOutboundOut(before), promise: nil) }
    }

    /// Writes the units that `send` has kept to join with their neighbours.
    func writeRun() {
        if let last = run.take() { context?.write(wrapOutboundOut(last), promise: nil) }
    }

    /// Offers everything queued to the socket. May find that the app is gone.
    package func flush() {
        guard let context else { return }
        writeRun()
        context.flush()
        isBehind = queuedBytes > 0
    }

    /// Whether the socket takes no more for now.
    package var isBlocked: Bool { !hasEnded && (context.map { !$0.channel.isWritable } ?? false) }

    /// How far the app has read.
    var readingProgress: SlowAppPolicy<AppConnection>.ReadingProgress {
        let queued = queuedBytes
        return .init(queued: queued, taken: counters.bytesOut &- UInt64(max(queued, 0)))
    }

    /// Bytes waiting for this app.
    package var queuedBytes: Int {
        guard let options = context?.channel.syncOptions else { return 0 }
        return run.count + ((try? options.getOption(.bufferedWritableBytes)) ?? 0)
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { hub.tookAll(self) }
    }

    /// The loop of its channel; nil when the connection has ended.
    package var loop: (any EventLoop)? { context?.eventLoop }
}

extension AppConnection: ChannelOutboundHandler {
    package typealias OutboundIn = ByteBuffer
}

extension AppConnection: Hashable {
    package static func == (left: AppConnection, right: AppConnection) -> Bool { left === right }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}
