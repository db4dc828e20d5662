// Stand-ins for sockets and threads in fuzz targets that run a whole connection.

import NIOCore
import NIOEmbedded
import Synchronization

/// Ends one direction of a connection, which an embedded channel cannot do.
final class HalfClosingHandler: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private(set) var hasSpokenTooLate = false
    private var isInputClosed = false
    private var isOutputClosed = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if isOutputClosed { hasSpokenTooLate = true }
        context.write(data, promise: promise)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        case .input where !isInputClosed:
            isInputClosed = true
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        case .output where !isOutputClosed:
            isOutputClosed = true
            context.fireUserInboundEventTriggered(ChannelEvent.outputClosed)
        default: break
        }
        if mode == .all || isInputClosed && isOutputClosed {
            context.close(mode: .all, promise: promise)
        } else {
            promise?.succeed()
        }
    }

    /// Ends the client's side: it has nothing more to ask.
    func stopSending(_ channel: EmbeddedChannel) {
        guard channel.isActive else { return }
        channel.close(mode: .input, promise: nil)
    }
}

/// Runs tasks on the thread that calls `run`, so that an input behaves the same every time.
final class SteppedExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    var hasJobs: Bool { jobs.withLock { !$0.isEmpty } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs jobs until none is left, including those added meanwhile.
    func run() {
        while case let waiting = jobs.withLock({ exchange(&$0, with: []) }), !waiting.isEmpty {
            for job in waiting { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}

/// Becomes true once.
final class Flag: Sendable {
    private let state = Mutex(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() { state.withLock { $0 = true } }
}
