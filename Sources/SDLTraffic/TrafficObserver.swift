// From the tap to all consumers, off the event loop. The traffic is decoded once:
//
//     TapItem  →  TrafficDecoder  →  TrafficEntry  →  TrafficLog          lines of text or JSON
//                                                     MessageRing         the latest entries, kept
//                                                     TrafficStatistics   counts
//                                                     TrafficAdvisor      advice; it feeds SessionFacts
//
// An observer sees the items of the tap, the decoder turns them into entries, and each consumer is named for
// what it makes of those. relayd adds consumers of its own: its events and the line that systemd shows.

package import NIOCore
package import RelayCore
package import SDLProtocol

/// Receives decoded traffic.
package protocol TrafficConsumer: Sendable {
    /// Entries arrive in order; the next batch waits until this one is done. Only a consumer that has to
    /// wait, as the log does for its writer, needs to be asynchronous.
    func consume(_ entries: [TrafficEntry]) async
}

/// Decodes the items of the tap, once, and passes the entries to all consumers in turn.
package actor TrafficObserver: FrameObserver {
    private var decoder: TrafficDecoder
    private let consumers: [any TrafficConsumer]
    private let clock: @Sendable () -> WallTime
    private let steadyClock: @Sendable () -> NIODeadline
    private var clockStep = ClockStep()

    /// - Parameters:
    ///   - clock: The clock that stamped the frames.
    ///   - steadyClock: A monotonic clock.
    package init(
        limits: MessageAssembler.Limits = MessageAssembler.Limits(),
        validator: RPCValidator? = .builtIn,
        consumers: [any TrafficConsumer], clock: @escaping @Sendable () -> WallTime = WallTime.now,
        steadyClock: @escaping @Sendable () -> NIODeadline = NIODeadline.now
    ) {
        self.clock = clock
        self.steadyClock = steadyClock
        _ = clockStep.take(wall: clock(), steady: steadyClock())
        decoder = TrafficDecoder(limits: limits, validator: validator)
        self.consumers = consumers
    }

    @discardableResult
    package func observe(_ items: [TapItem]) async -> Duration? {
        var entries: [TrafficEntry] = []
        let now = clock()
        if let step = clockStep.take(wall: now, steady: steadyClock()) {
            decoder.clockWasSet(by: step)
            for item in items {
                decoder.receive(item.shifted(by: step, now: now), into: &entries)
            }
        } else {
            for item in items { decoder.receive(item, into: &entries) }
        }
        // Only then: while items are queued, an answer that seems late may be among them.
        if items.isEmpty { decoder.advance(to: now, into: &entries) }
        if !entries.isEmpty {
            for consumer in consumers { await consumer.consume(entries) }
        }
        return decoder.nextDeadline.map {
            .nanoseconds(max(0, $0.nanoseconds &- now.nanoseconds))
        }
    }
}
