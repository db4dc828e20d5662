// Fuzz targets: numbers with units, times, and text that is shown.

import ControlAPI
import RelayCore
import SDLProtocol

@testable import relayctl
@testable import relayd

extension FuzzTarget {
    static let quantities = FuzzTarget(
        name: "quantities", about: "durations, sizes and times as people and programs write them",
        promise: "what was read is written and read as the same", maximumBytes: 64,
        words: {
            [
                "ms", "s", "m", "h", "KiB", "MiB", "GiB", "2026-11-21T10:31:07.042Z",
                "9999-12-31T00:00:00Z", "0000-01-01T00:00:00Z", "9223372036854775807", "10:31",
                "2026-11-21 10:31",
            ]
        },
        run: { bytes in
            guard let text = String(validating: bytes, as: UTF8.self) else { return }
            if let duration = Quantity.duration(text) {
                let written = Quantity.text(duration)
                try ensure(Quantity.duration(written) == duration, "\(text) becomes \(written)")
            }
            if let size = Quantity.bytes(text) {
                let written = Quantity.text(bytes: size)
                try ensure(Quantity.bytes(written) == size, "\(text) becomes \(written)")
            }
            _ = Quantity.byteUnitHint(text)
            if let time = Timestamp(text) {
                let written = time.description
                try ensure(Timestamp(written) == time, "\(text) becomes \(written)")
                _ = time.seconds(since: Timestamp(millisecondsSince1970: 0))
            }
            _ = TimeArgument.milliseconds(text)
            _ = TimeArgument.start(text, now: Timestamp(millisecondsSince1970: 1_795_257_067_000))
        })

    static let shownText = FuzzTarget(
        name: "shown-text", about: "text of peers on its way to a terminal or the journal",
        promise: "what is shown has no control characters", maximumBytes: 1024,
        words: {
            ["\u{1B}[31m", "\u{202E}", "\u{200B}", "\u{FEFF}", "\u{1F468}\u{200D}\u{1F469}", "漢"]
        },
        run: { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            for limit in [0, 1, 7, .max] {
                let shown = PrintableText.string(text, limit: limit)
                try ensure(!hasControls(shown), "shown as \(shown.debugDescription)")
            }
            var line: [UInt8] = []
            PrintableText.appendJSONString(text, to: &line)
            try ensure(!line.contains { $0 < 0x20 }, "a JSON text of \(line)")
            _ = WrongProtocol(firstBytes: .init(bytes: bytes))
        })

    private static func hasControls(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
