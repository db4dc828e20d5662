import SDLProtocol
import Synchronization

/// The current streams, so that others than their clients can stop them.
final class RunningStreams: Sendable {
    struct Key: Hashable {
        var app: Int
        var service: ServiceType
    }

    final class Stop: Sendable {
        private let state = Atomic(false)
        private let cutOff: @Sendable () -> Void

        init(_ cutOff: @escaping @Sendable () -> Void) { self.cutOff = cutOff }

        var isSet: Bool { state.load(ordering: .relaxed) }

        func set() {
            state.store(true, ordering: .relaxed)
            cutOff()
        }
    }

    /// Several for one key when an app has several sessions, and when the head unit has ended a stream that
    /// does not know it yet.
    private let stops = Mutex<[Key: [Stop]]>([:])

    func begin(_ key: Key, _ cutOff: @escaping @Sendable () -> Void) -> Stop {
        let stop = Stop(cutOff)
        stops.withLock { $0[key, default: []].append(stop) }
        return stop
    }

    func end(_ key: Key, _ stop: Stop) {
        stops.withLock { stops in
            stops[key]?.removeAll { $0 === stop }
            if stops[key]?.isEmpty == true { stops[key] = nil }
        }
    }

    func stopAll() {
        for stop in stops.withLock({ $0.values.flatMap(\.self) }) { stop.set() }
    }

    /// - Returns: Whether there was anything to stop.
    func stop(_ key: Key) -> Bool {
        let found = stops.withLock { $0[key] ?? [] }
        for stop in found { stop.set() }
        return !found.isEmpty
    }
}
