import Synchronization
import Testing

@testable import relayd

// The meaning of SIGHUP for a relayd on a terminal and for one without.

@Suite("HangUp")
struct HangUpTests {
    private final class Terminals: Sendable {
        let descriptors: Mutex<Set<Int32>>
        init(_ descriptors: Set<Int32>) { self.descriptors = Mutex(descriptors) }
        func has(_ descriptor: Int32) -> Bool {
            descriptors.withLock { $0.contains(descriptor) }
        }
    }

    @Test("without a terminal it is a request to reload")
    func service() {
        #expect(HangUp { _ in false }.verdict() == .reload)
    }

    @Test("on a terminal that is still there as well: somebody has sent it")
    func asked() {
        #expect(HangUp { _ in true }.verdict() == .reload)
    }

    @Test("a terminal that was there and is gone ends relayd", arguments: [0, 1, 2] as [Int32])
    func gone(descriptor: Int32) {
        let terminals = Terminals([descriptor])
        let hangUp = HangUp { terminals.has($0) }
        terminals.descriptors.withLock { $0 = [] }
        #expect(hangUp.verdict() == .stop)
    }
}
