package import NIOCore
package import SDLProtocol

/// One whole message of a recording, in a form that can be sent again in another session.
package struct RecordedMessage: Sendable {
    package enum Kind: Hashable, Sendable {
        case control(ControlFrameType)
        /// - Parameter correlationID: Nil in v1 notifications.
        case rpc(RPCType, FunctionID, correlationID: Int32?)
        /// A frame of audio or video.
        case stream
        /// Encrypted, or unreadable.
        case other
    }

    package var kind: Kind
    package var version: UInt8
    package var service: ServiceType
    package var isEncrypted: Bool
    package var payload: ByteBuffer
    /// The largest piece of the payload that was sent in one frame.
    package var pieceBytes: Int

    /// A message of a single frame: control, audio, video.
    package init(_ frame: Frame, kind: Kind) {
        self.kind = kind
        version = frame.version
        service = frame.service
        isEncrypted = frame.isEncrypted
        payload = frame.payload.detached()
        pieceBytes = max(1, payload.readableBytes)
    }

    package init(_ message: Message, kind: Kind, pieceBytes: Int) {
        self.kind = kind
        version = message.version
        service = message.service
        isEncrypted = message.isEncrypted
        payload = message.payload
        self.pieceBytes = max(1, pieceBytes)
    }

    /// Approximate bytes of memory.
    package var weight: Int { Self.overhead + payload.readableBytes }
    static let overhead = 256

    // MARK: Said again

    /// The same message with another correlation ID; unchanged where none can be written.
    package func correlated(_ correlationID: Int32) -> RecordedMessage {
        guard case .rpc(let type, let function, let old) = kind, old != correlationID else {
            return self
        }
        var copy = self
        if version > 1 {
            copy.payload = payload.detached()
            copy.payload.setInteger(correlationID, at: copy.payload.readerIndex + 4)
        } else if let rewritten = wrapped(type, correlationID) {
            copy.payload = rewritten
        } else {
            return self
        }
        copy.kind = .rpc(type, function, correlationID: correlationID)
        return copy
    }

    /// v1: the number is in the JSON.
    private func wrapped(_ type: RPCType, _ correlationID: Int32) -> ByteBuffer? {
        var text = payload
        // sdl_core ends it with a NUL byte.
        while text.readableBytes > 0,
            text.getInteger(at: text.writerIndex - 1, as: UInt8.self) == 0
        {
            text.moveWriterIndex(to: text.writerIndex - 1)
        }
        guard let wrapper = try? JSONObject(text), let body = wrapper.value(type.name),
            let number = wrapper.value("correlationID", within: body)
        else { return nil }
        let bytes = wrapper.bytes
        let end = number.range.upperBound
        guard
            let front = bytes.getSlice(at: bytes.readerIndex, length: number.range.lowerBound),
            let back = bytes.getSlice(
                at: bytes.readerIndex + end, length: bytes.readableBytes - end)
        else { return nil }
        var rewritten = ByteBuffer()
        rewritten.writeImmutableBuffer(front)
        rewritten.writeString("\(correlationID)")
        rewritten.writeImmutableBuffer(back)
        return rewritten
    }

    /// The frames of the message, in pieces as large as those recorded.
    package func frames(session: UInt8, messageID: UInt32) -> [Frame] {
        if case .control(let type) = kind {
            return [
                frame(.control, info: type.rawValue, session, messageID, payload)
            ]
        }
        guard payload.readableBytes > pieceBytes else {
            return [frame(.single, session, messageID, payload)]
        }
        let count = (payload.readableBytes + pieceBytes - 1) / pieceBytes
        var announcement = ByteBuffer()
        announcement.writeInteger(UInt32(clamping: payload.readableBytes))
        announcement.writeInteger(UInt32(clamping: count))
        var frames = [frame(.first, session, messageID, announcement)]
        var rest = payload
        for index in 1...count {
            let piece =
                rest.readSlice(length: min(pieceBytes, rest.readableBytes)) ?? ByteBuffer()
            // 1…255, 1…255, …; the last is 0 (SDL protocol spec, "Multiple frames").
            let info = index == count ? 0 : UInt8((index - 1) % 255 + 1)
            frames.append(frame(.consecutive, info: info, session, messageID, piece))
        }
        return frames
    }

    private func frame(
        _ type: FrameType, info: UInt8 = 0, _ session: UInt8, _ messageID: UInt32,
        _ payload: ByteBuffer
    ) -> Frame {
        Frame(
            version: version, isEncrypted: isEncrypted, type: type, service: service, info: info,
            sessionID: session, messageID: messageID, payload: payload)
    }
}

/// The subject of a request or a control frame, by which a live question is matched with a recorded one.
package enum RecordedQuestion: Hashable, Sendable {
    case control(ControlFrameType, ServiceType)
    case request(FunctionID)
}

extension RecordedQuestion: CustomStringConvertible {
    package var description: String {
        switch self {
        case .control(let type, let service): "\(type.name) (\(service.name))"
        case .request(let function): function.description
        }
    }
}

extension RecordedMessage {
    /// Nil for a message that asks nothing.
    package var question: RecordedQuestion? {
        switch kind {
        case .control(.startService): .control(.startService, service)
        case .control(.endService): .control(.endService, service)
        case .control(.registerSecondaryTransport):
            .control(.registerSecondaryTransport, service)
        case .rpc(.request, let function, _): .request(function)
        default: nil
        }
    }

    /// The control frame that this one answers.
    package var answered: RecordedQuestion? {
        switch kind {
        case .control(.startServiceACK), .control(.startServiceNAK):
            .control(.startService, service)
        case .control(.endServiceACK), .control(.endServiceNAK): .control(.endService, service)
        case .control(.registerSecondaryTransportACK), .control(.registerSecondaryTransportNAK):
            .control(.registerSecondaryTransport, service)
        default: nil
        }
    }
}

/// The identity that an app gives in RegisterAppInterface.
package struct RecordedRegistration: Hashable, Sendable {
    /// Empty if the app gives none.
    package var name: String
    package var appID: String

    package init(name: String, appID: String) {
        self.name = name
        self.appID = appID
    }

    /// Nil for a message that is not a RegisterAppInterface request.
    package init?(_ rpc: RPCMessage) {
        guard rpc.type == .request, rpc.functionID == .registerAppInterface else { return nil }
        func text(_ key: String) -> String {
            PrintableText.string(rpc.parameters.string(key) ?? "", limit: Self.maximumScalars)
        }
        self.init(name: text("appName"), appID: text("appID"))
    }

    /// Scalars of a name that are shown and compared.
    private static let maximumScalars = 200
}
