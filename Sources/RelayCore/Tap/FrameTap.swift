import NIOCore
package import SDLProtocol

/// The one way off the hot path: shows frames and events to every sink. Lives on the event loop.
///
/// Each sink has its own queue, bound, policy and count of missed frames, so a slow sink never costs the
/// others a frame.
package final class FrameTap {
    private let loop: any EventLoop
    /// The sink of the observers. Not among the others, because going through an array costs every frame
    /// atomic operations.
    private let observers: TapSink
    private var others: [TapSink] = []
    private var isFinished = false
    /// For sinks that come later.
    private var prologue = TapPrologue(maximumBytes: prologueBytes)
    /// Called when the hub has to wait for a sink, and when it need not any more.
    var holdChanged: () -> Void = {}

    /// Registrations and grants of all sessions that a link can have, with long answers.
    private static let prologueBytes = 8 << 20

    init(queue: TapQueue, _ policy: TapPolicy = .observers, loop: any EventLoop) {
        self.loop = loop
        observers = TapSink(queue, policy, loop: loop)
    }

    /// Adds a sink, which sees everything from now on. Before that it gets the frames which opened the sessions
    /// that are running, and registered their apps.
    ///
    /// - Parameter news: Events that bring it up to date.
    func attach(_ queue: TapQueue, _ policy: TapPolicy, news: [TapItem]) {
        guard !isFinished else { return queue.finish() }
        let sink = TapSink(queue, policy, loop: loop) { [weak self] _ in self?.holdChanged() }
        for event in news { sink.record(event) }
        let frames = prologue.frames
        if !frames.isEmpty { sink.record(.frames(frames)) }
        others.append(sink)
    }

    /// Removes the sink with this queue. The queue ends after what it has been given.
    func detach(_ queue: TapQueue) {
        guard let index = others.firstIndex(where: { $0.queue === queue }) else { return }
        others.remove(at: index).finish()
    }

    @inline(__always)
    package func record(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime,
        fate: FrameFate = .forwarded, grant: GrantMeaning? = nil
    ) {
        observers.record(frame, direction, app: app, time: time, fate: fate, grant: grant)
        if TapPrologue.concerns(frame) {
            learn(frame, direction, app: app, time: time, fate: fate, grant: grant)
        }
        guard !others.isEmpty else { return }
        recordForOthers(frame, direction, app: app, time: time, fate: fate, grant: grant)
    }

    @inline(never)
    private func learn(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime, fate: FrameFate,
        grant: GrantMeaning?
    ) {
        prologue.learn(
            TappedFrame(
                frame: frame, direction: direction, app: app, time: time, fate: fate,
                grant: grant))
    }

    @inline(never)
    private func recordForOthers(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime, fate: FrameFate,
        grant: GrantMeaning?
    ) {
        for sink in others {
            sink.record(frame, direction, app: app, time: time, fate: fate, grant: grant)
        }
    }

    /// A sink that may miss nothing is full: nobody is to be read.
    var isHolding: Bool { others.contains(where: \.isHolding) }

    /// Bytes that were no frame. The observers count them, and are told by a notice.
    func record(_ run: TappedBytes) {
        for sink in others { sink.record(run) }
    }

    /// Events are rare and go at once, with the frames before them.
    package func record(_ event: TapItem) {
        prologue.learn(event)
        observers.record(event)
        for sink in others { sink.record(event) }
    }

    /// Something that did not pass. The observers are not told: what they found out is among it.
    func record(_ note: TapNote, at time: WallTime) {
        for sink in others { sink.record(.noted(note, time: time)) }
    }

    /// The frames of a read are recorded: hands them over now or soon.
    func endRead() {
        observers.endRead()
        guard !others.isEmpty else { return }
        for sink in others { sink.endRead() }
    }

    /// Hands over what there is.
    func emit() {
        observers.emit()
        for sink in others { sink.emit() }
    }

    /// Ends all queues; what they hold can still be taken.
    func finish() {
        isFinished = true
        observers.finish()
        for sink in others { sink.finish() }
        others = []
    }
}
