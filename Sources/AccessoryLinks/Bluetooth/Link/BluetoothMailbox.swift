import Glibc
import Synchronization

/// Messages to a Bluetooth link's thread: relayd stops waiting for the link, or the link has ended. The thread
/// polls the mailbox beside whatever else it waits for.
final class BluetoothMailbox: Sendable {
    enum Letter: Hashable {
        case cancelled
        case linkEnded
    }

    private let letters = Mutex<[Letter]>([])
    private let wake: OwnedDescriptor
    private let woken: OwnedDescriptor

    init() throws(LinkProblem) {
        let ends = try OwnedDescriptor.socketPair()
        woken = OwnedDescriptor(ends.0)
        wake = OwnedDescriptor(ends.1)
    }

    /// To be polled for reading.
    var descriptor: CInt { woken.rawValue }

    func put(_ letter: Letter) {
        letters.withLock { $0.append(letter) }
        var byte: UInt8 = 1
        _ = send(wake.rawValue, &byte, 1, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
    }

    /// The letters that have arrived, in order.
    func take() -> [Letter] {
        var bytes = (UInt64(0), UInt64(0))
        _ = recv(woken.rawValue, &bytes, MemoryLayout.size(ofValue: bytes), CInt(MSG_DONTWAIT))
        return letters.withLock { letters in
            defer { letters = [] }
            return letters
        }
    }
}
