// A recording of a dialogue that may miss nothing, with so little room that the hub waits for it again and
// again, in the middle of its work.

import NIOCore
import SDLProtocol

@testable import RelayCore

/// Compares the recorded frames with those that the hub has written.
final class HubRecording {
    private let queue = TapQueue(maximumBytes: 2000)
    private var recorded: [Frame: Int] = [:]
    private var heard: [Frame: Int] = [:]
    private var missed = 0
    /// How often the hub had to wait.
    private(set) var holds = 0

    private static let policy = TapPolicy(
        payload: .everything, delay: .milliseconds(1), streamDelay: .milliseconds(1),
        overflow: .wait)

    func begin(on switchboard: Switchboard) {
        switchboard.attach(queue, Self.policy)
        let changed = switchboard.tap.holdChanged
        let (tap, loop) = (switchboard.tap, switchboard.loop)
        tap.holdChanged = { [unowned self, unowned tap] in
            changed()
            guard tap.isHolding else { return }
            holds += 1
            // The hub is in the middle of something.
            loop.assumeIsolated().execute { [weak self] in self?.look() }
        }
    }

    private func look() {
        take()
        // The second call shows that the reader is done with the first batch.
        take()
    }

    private func take() {
        for item in queue.takeAll() {
            switch item {
            case .frames(let frames): for frame in frames { recorded[frame.frame, default: 0] += 1 }
            case .missed: missed += 1
            default: break
            }
        }
    }

    /// Notes a frame that the hub has written, to any peer.
    func hear(_ frame: Frame) { heard[frame, default: 0] += 1 }

    /// Reports what is wrong with the recording so far.
    func check(_ tap: FrameTap, fail: (String) -> Void) {
        tap.emit()
        look()
        if missed > 0 { fail("a recording that may miss nothing has \(missed) gaps") }
        for (frame, count) in heard {
            guard recorded[frame, default: 0] < count else { continue }
            return fail("\(frame) was passed on, and is not recorded")
        }
    }
}
