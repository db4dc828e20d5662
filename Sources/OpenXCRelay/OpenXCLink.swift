import NIOCore
import OpenXCProtocol
import RelayCore

/// Makes messages of what comes from the vehicle interface.
final class OpenXCLink: LinkReader {
    private unowned let language: OpenXCLanguage
    private var messages = VehicleMessageReader(recovery: .nextBeginning)
    private var form = FormInForce()
    private var batch: [VehicleMessage] = []

    init(_ language: OpenXCLanguage) { self.language = language }

    /// Nil until it has said something.
    var format: PayloadFormat? { form.format }
    var counts: VehicleMessageReader.Counts { messages.counts }

    func received(_ bytes: ByteBuffer) {
        messages.append(bytes.readableBytesView)
        while let message = messages.next() {
            form.heard(message, in: messages.format)
            batch.append(message)
        }
        guard !batch.isEmpty else { return }
        language.receiveFromVehicle(batch, bytes: bytes.readableBytes)
        batch.removeAll(keepingCapacity: true)
    }

    func waits() {}
    func stops() {}
}
