import SDLProtocol

/// The hash ID of an EndService, where it is not the one its session was granted with. Head units may refuse to end
/// the session.
package struct WrongHash: Hashable, Sendable {
    package enum Sent: Hashable, Sendable {
        /// No hash ID, or 0.
        case nothing
        case hash(UInt32)
        /// A value of another type than the specification's int32; the name of that type.
        case type(String)
    }

    package var sent: Sent
    /// As the StartServiceACK had it.
    package var expected: UInt32

    package init(sent: Sent, expected: UInt32) {
        (self.sent, self.expected) = (sent, expected)
    }

    /// Nil when the hash is right.
    init?(_ end: Frame, expected: UInt32) {
        let payload = ControlPayload(end)
        let hash = payload.hashID ?? 0
        guard hash != expected else { return nil }
        self.expected = expected
        if let value = payload.document?[ControlKey.hashID], payload.hashID == nil {
            sent = .type(value.typeName)
        } else {
            sent = hash == 0 ? .nothing : .hash(hash)
        }
    }
}
