import CShims
import Glibc
import NIOCore

/// Connects to an RFCOMM channel through a socket of its own, without bluetoothd: on a thread, because NIO does not
/// know Bluetooth addresses.
final class RFCOMMConnecting: Sendable {
    private let address: BluetoothAddress
    private let channel: UInt8
    private let wait: BluetoothWait<CInt>

    init(
        _ address: BluetoothAddress, channel: UInt8, on loop: any EventLoop
    ) throws(LinkProblem) {
        (self.address, self.channel) = (address, channel)
        wait = try BluetoothWait(on: loop)
    }

    /// - Returns: A connected socket, owned by the caller.
    func connect() async throws(LinkProblem) -> CInt {
        try await wait.value {
            do throws(LinkProblem) {
                self.wait.succeed(try self.connectAndWait().release())
            } catch {
                self.wait.fail(error)
            }
        }
    }

    private func connectAndWait() throws(LinkProblem) -> OwnedDescriptor {
        var opened: CInt = -1
        let error = address.bytes.withUnsafeBufferPointer {
            relay_rfcomm_connect($0.baseAddress, channel, &opened)
        }
        guard error == 0 else { throw problem(error) }
        let socket = OwnedDescriptor(opened)
        let deadline = ContinuousClock.now + RFCOMMTransport.connectLimit
        while true {
            guard ContinuousClock.now < deadline else { throw problem(ETIMEDOUT) }
            var polled = [
                pollfd(fd: socket.rawValue, events: Int16(POLLOUT), revents: 0),
                pollfd(fd: wait.mailbox.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let seconds = max(0, ContinuousClock.now.duration(to: deadline).components.seconds)
            poll(&polled, 2, CInt(truncatingIfNeeded: seconds + 1) * 1000)
            guard wait.mailbox.take().isEmpty else { throw BlueZProblem.cancelled }
            guard polled[0].revents != 0 else { continue }
            var outcome: CInt = 0
            var size = socklen_t(MemoryLayout<CInt>.size)
            getsockopt(socket.rawValue, SOL_SOCKET, SO_ERROR, &outcome, &size)
            if outcome == 0, polled[0].revents & Int16(POLLERR | POLLHUP) != 0 {
                // The kernel has already reported the error to an earlier reader.
                outcome = ECONNREFUSED
            }
            guard outcome == 0 else { throw problem(outcome) }
            return socket
        }
    }

    /// The kernel's errors of RFCOMM sockets (net/bluetooth/lib.c, bt_to_errno).
    private func problem(_ error: CInt) -> LinkProblem {
        let place = "channel \(channel) of \(address)"
        switch error {
        case EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT:
            return LinkProblem(
                .unsupported, "this machine's kernel has no Bluetooth (RFCOMM)",
                remedy: "load it with: modprobe rfcomm")
        case EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENODEV:
            return LinkProblem(
                .unreachable,
                "no Bluetooth adapter can reach \(address): there is none, or it is off",
                remedy: "switch it on with: bluetoothctl power on (if that fails, first: "
                    + "rfkill unblock bluetooth)")
        case ECONNREFUSED, ECONNRESET, ECONNABORTED:
            return LinkProblem(
                .refused, "nothing listens on \(place)",
                remedy: "check the channel with: sdptool browse \(address); "
                    + "without channel= relayd looks the service up")
        case EACCES, EPERM, EKEYREJECTED:
            return LinkProblem(
                .refused, "\(address) is not paired with this machine, or has forgotten it",
                remedy: "pair it with: bluetoothctl pair \(address)")
        case EHOSTDOWN, ETIMEDOUT:
            return LinkProblem(
                .timedOut, "\(address) did not answer",
                remedy: "check that the head unit is on and in range")
        case EBUSY, EADDRINUSE:
            return LinkProblem(
                .busy, "\(place) is in use by another program",
                remedy: "look for it with: rfcomm; or rfcomm release")
        default:
            return .system("connecting to \(place) failed", errno: error)
        }
    }
}
