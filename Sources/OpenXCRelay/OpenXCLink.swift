import NIOCore
import OpenXCProtocol
import RelayCore

/// Turns the bytes of the vehicle interface into messages.
final class OpenXCLink: LinkReader {
    private unowned let language: OpenXCLanguage
    private var messages = VehicleMessageReader(recovery: .nextBeginning)
    private var form = FormInForce()
    private var batch: [VehicleMessage] = []
    private var wire = MessagesOnTheWire()

    init(_ language: OpenXCLanguage) { self.language = language }

    /// Nil until the vehicle interface has sent something.
    var format: PayloadFormat? { form.format }
    var counts: VehicleMessageReader.Counts { messages.counts }

    func received(_ bytes: ByteBuffer) {
        messages.append(bytes.readableBytesView)
        while let message = messages.next() {
            form.heard(message, in: messages.format)
            batch.append(message)
            if language.isTapped { wire.append(messages.latestBytes) }
        }
        guard !batch.isEmpty else { return }
        language.receiveFromVehicle(batch, wire)
        batch.removeAll(keepingCapacity: true)
        wire = MessagesOnTheWire()
    }

    func waits() {}
    func stops() {}
}

/// The messages of one read as they came, in one piece of memory.
struct MessagesOnTheWire {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    mutating func append(_ message: ArraySlice<UInt8>) {
        bytes += message
        ends.append(bytes.count)
    }

    /// Empty unless the tap wanted the messages.
    subscript(index: Int) -> ArraySlice<UInt8> {
        guard ends.indices.contains(index) else { return [] }
        return bytes[(index > 0 ? ends[index - 1] : 0)..<ends[index]]
    }
}
