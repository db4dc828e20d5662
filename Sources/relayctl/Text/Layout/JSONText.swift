import NIOCore
import SDLProtocol

/// JSON passed on as it arrived, so that a script gets fields that this relayctl does not know yet.
///
/// Used by `--json`. Works on text: no decoding, no loss.
enum JSONText {
    /// On one line, without spaces outside strings.
    static func compact(_ json: String) -> String {
        (try? JSONObject(ByteBuffer(string: json)))?.compacted ?? json
    }

    /// The same JSON with invisible characters written as \u escapes. JSON requires this only below
    /// U+0020, but U+009B starts a terminal's control sequence, too. Outside strings JSON is plain ASCII,
    /// so nothing else is changed.
    static func safe(_ json: String) -> String {
        if json.utf8.allSatisfy({ $0 < 0x7F }) { return json }
        var kept: [UInt8] = []
        kept.reserveCapacity(json.utf8.count)
        for scalar in json.unicodeScalars {
            if scalar.value >= 0x7F, VisibleScalars.isInvisible(scalar) {
                PrintableText.appendEscape(scalar, to: &kept)
            } else {
                UTF8.encode(scalar).map { kept.append(contentsOf: $0) }
            }
        }
        return String(decoding: kept, as: UTF8.self)
    }
}
