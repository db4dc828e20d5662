// The sample app's frames: numbers them and keeps them within what head units accept.

import NIOCore
import SDLProtocol

extension SampleApp {
    /// Highest protocol version the app speaks.
    static let protocolVersion = "5.4.1"
    /// Unicode scalars shown of a line; lines from well-behaved head units have under 200.
    static let lineLimit = 500

    /// Makes the line printable: it contains text from the head unit, and is shown on a terminal.
    mutating func say(_ line: String) {
        output.lines.append(PrintableText.string(line, limit: Self.lineLimit))
    }

    /// Sends StartService with a v1 header, as the app cannot know yet which version the head unit speaks (SDL
    /// protocol spec, "Version Negotiation").
    mutating func sendStartService() {
        let document: BSONDocument = [ControlKey.protocolVersion: .string(Self.protocolVersion)]
        output.frames.append(
            Frame(
                version: 1, type: .control, service: .rpc,
                info: ControlFrameType.startService.rawValue, sessionID: 0,
                payload: document.bytes))
    }

    mutating func sendEndService() {
        guard let session else { return }
        sentMessages += 1
        output.frames.append(
            .endService(
                version: session.version, sessionID: session.sessionID, hashID: session.hashID,
                messageID: sentMessages))
    }

    /// Sends a request; `receiveResponse` waits for its response.
    mutating func request(
        _ function: FunctionID, _ parameters: String = "{}", bulk: ByteBuffer? = nil
    ) {
        guard let session else { return }
        awaited = function
        correlationID += 1
        sentMessages += 1
        if session.version == 1 {
            output.frames.append(
                .rpcV1(
                    sessionID: session.sessionID, type: .request, name: function.description,
                    correlationID: correlationID, parameters: parameters))
        } else {
            output.frames.append(
                .rpc(
                    version: session.version, service: bulk == nil ? .rpc : .bulk,
                    sessionID: session.sessionID, messageID: sentMessages, type: .request,
                    functionID: function.rawValue, correlationID: correlationID,
                    json: parameters, bulk: bulk ?? ByteBuffer()))
        }
    }

    /// Largest payload of a frame, by the strictest interpretation of the MTU (SDL protocol spec, "MTU").
    var maximumPayloadBytes: Int {
        switch session?.version ?? 1 {
        case 1, 2: return 1011
        case 3, 4: return 131_011
        default:
            return session?.mtu.map { Int(clamping: min($0, 131_072)) - 13 } ?? 131_011
        }
    }
}
