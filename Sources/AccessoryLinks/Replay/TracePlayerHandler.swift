import Glibc
import Logging
import NIOCore
import NIOPosix
import OpenXCProtocol
import OpenXCTraces

/// Runs a `TracePlayer` on a channel's event loop: one timer, and a file that is read ahead on a thread of its own,
/// one batch at a time. What clients send is read and not answered: a trace has no answers.
///
/// When the link takes no more, the trace waits: nothing of it is lost.
final class TracePlayerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let options: TracePlayer.Options
    private var player: TracePlayer
    private var file: OpenXCTraceFile
    private var timer: (deadline: NIODeadline, scheduled: Scheduled<Void>)?
    private var isReading = false
    private var skipped = SkippedLines()
    /// In a loop, only the first round is reported: the others are the same.
    private var isFirstRound = true

    private static let logger = Logger(label: "replay")
    /// The most messages written to the link in one go.
    private static let messagesAtOnce = 256

    init(_ options: TracePlayer.Options, _ file: OpenXCTraceFile) {
        self.options = options
        self.file = file
        player = TracePlayer(options)
    }

    func channelActive(context: ChannelHandlerContext) {
        readAhead(context: context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        tellRest()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { play(context: context) }
        context.fireChannelWritabilityChanged()
    }

    private func stop() {
        timer?.scheduled.cancel()
        timer = nil
    }

    // MARK: The trace

    private func readAhead(context: ChannelHandlerContext) {
        let again = player.wantsRestart
        guard !isReading, again || player.wantsMore, context.channel.isActive else { return }
        isReading = true
        let old = file
        let result = NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) {
            let file = again ? try OpenXCTraceFile(old.path) : old
            return (file, file.next())
        }
        result.assumeIsolated().whenComplete { result in
            self.isReading = false
            switch result {
            case .success((let file, let batch)):
                if again { self.player.restart() }
                self.file = file
                self.player.feed(batch.lines, isLast: batch.isLast)
                if let problem = batch.problem { self.say("the trace ends here: \(problem)") }
            case .failure(let error):
                self.say("the trace cannot be read again: \(Self.words(error))")
                self.player.feed([], isLast: true)
                return
            }
            self.play(context: context)
        }
    }

    private func play(context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        var hasWritten = false
        while context.channel.isWritable {
            let output = player.advance(to: context.eventLoop.now, atMost: Self.messagesAtOnce)
            for note in output.notes { tell(note) }
            guard !output.messages.isEmpty else { break }
            var bytes: [UInt8] = []
            for message in output.messages {
                // A message that has no JSON form was not read from JSON.
                try? MessageFraming.json.append(message, to: &bytes)
            }
            context.write(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            hasWritten = true
        }
        if hasWritten { context.flush() }
        scheduleTimer(context: context)
        readAhead(context: context)
    }

    /// Keeps exactly one task for the next deadline, and none while nothing is due or the link takes nothing.
    private func scheduleTimer(context: ChannelHandlerContext) {
        let deadline = context.channel.isWritable ? player.nextDeadline : nil
        guard deadline != timer?.deadline else { return }
        stop()
        guard let deadline, context.channel.isActive else { return }
        let scheduled = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.play(context: context)
        }
        timer = (deadline, scheduled)
    }

    // MARK: Words

    private static func words(_ error: any Error) -> String {
        guard let error = error as? OpenXCTraceFile.OpenError else { return "\(error)" }
        return "\(String(cString: strerror(error.code))); put it back where it was, then: "
            + "relayctl reopen"
    }

    private func tell(_ note: TracePlayer.Note) {
        guard isFirstRound else { return }
        switch note {
        case .badLine(let problem, let number):
            if let words = skipped.add(number, problem) { say(words) }
        case .gap(let seconds, let number):
            say(
                "line \(number): a gap of \(Int(clamping: Int64(min(seconds, 1e15)))) s is "
                    + "shortened to \(Int(options.maximumGap)) s")
        case .ended(let messages, let badLines):
            tellRest()
            let skipped = badLines == 0 ? "" : ", \(badLines) lines skipped"
            let next = options.loops ? "; it starts again" : ""
            say("the trace has ended: \(messages) messages\(skipped)\(next)")
            isFirstRound = false
        case .nothing(let badLines):
            tellRest()
            say("there is no message in the trace, and \(badLines) lines were skipped")
        }
    }

    private func tellRest() {
        if let words = skipped.takeRest() { say(words) }
    }

    private func say(_ words: String) {
        Self.logger.notice("\(words)", metadata: ["file": "\(file.path)"])
    }
}
