// One decoding pass for everybody: the tap feeds `TrafficObserver`, it feeds the consumers.

package import SDLProtocol

/// Looks at decoded traffic: log, facts, and later the ring of recent messages and the advice.
package protocol TrafficConsumer: Sendable {
    /// Entries arrive in order; the next batch waits until this one is done.
    func consume(_ entries: [TrafficEntry]) async
}

/// Decodes what passes the tap, once, and hands it to all consumers in turn.
package actor TrafficObserver: FrameObserver {
    private var decoder: TrafficDecoder
    private let consumers: [any TrafficConsumer]

    package init(
        limits: MessageAssembler.Limits = MessageAssembler.Limits(),
        validator: RPCValidator? = .builtIn,
        consumers: [any TrafficConsumer]
    ) {
        decoder = TrafficDecoder(limits: limits, validator: validator)
        self.consumers = consumers
    }

    package func observe(_ items: [TapItem]) async {
        var entries: [TrafficEntry] = []
        for item in items { decoder.receive(item, into: &entries) }
        guard !entries.isEmpty else { return }
        for consumer in consumers { await consumer.consume(entries) }
    }
}
