package import SDLProtocol

/// The video format that an app and the head unit agreed on (SDL protocol spec, "StartService" of the video
/// service). Before version 5 there is no agreement: H.264 as a byte stream.
package struct VideoFormat: Hashable, Sendable {
    /// RAW, RTP, RTSP, RTMP or WEBM; nil when not given.
    package var transport: String?
    /// H264, H265, Theora, VP8 or VP9.
    package var codec: String?
    package var width: Int?
    package var height: Int?

    package init() {}

    /// From a StartService or its answer; values that are not given stay nil.
    package init(_ payload: ControlPayload) {
        guard let document = payload.document else { return }
        transport = document.string(ControlKey.videoProtocol).map { Self.short($0) }
        codec = document.string(ControlKey.videoCodec).map { Self.short($0) }
        width = document.int32(ControlKey.width).map(Int.init)
        height = document.int32(ControlKey.height).map(Int.init)
    }

    private static func short(_ text: String) -> String { PrintableText.string(text, limit: 20) }

    /// The values of the answer, completed by those of the request.
    package func completed(by request: VideoFormat?) -> VideoFormat {
        var format = self
        format.transport = transport ?? request?.transport
        format.codec = codec ?? request?.codec
        format.width = width ?? request?.width
        format.height = height ?? request?.height
        return format
    }

    /// Whether pictures can be extracted from this format.
    package var isReadable: Bool {
        (codec == nil || codec == "H264") && [nil, "RAW", "RTP"].contains(transport)
    }
}

extension VideoFormat: CustomStringConvertible {
    /// "H264 RAW 800×480", as far as it is known.
    package var description: String {
        var parts = [codec ?? "H264"]
        if let transport { parts.append(transport) }
        if let width, let height { parts.append("\(width)×\(height)") }
        return parts.joined(separator: " ")
    }
}
