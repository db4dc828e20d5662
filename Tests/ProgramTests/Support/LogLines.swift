// Log lines without the parts that differ from run to run, so that they can be compared.

import Foundation

enum LogLines {
    /// A text line without time, latency and ports.
    static func comparable(_ line: String) -> String {
        var text = line.replacing(#/^\d\d:\d\d:\d\d\.\d\d\d  /#, with: "")
        text.replace(#/  [0-9.]+ m?s( slow)?$/#, with: "")
        text.replace(#/127\.0\.0\.1:\d+/#, with: "127.0.0.1:PORT")
        return text
    }

    /// A JSON line as keys and values, without those that differ from run to run.
    static func comparable(json line: String) throws -> NSDictionary {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
        var keys = object as? [String: Any] ?? [:]
        for key in ["time", "latency_ms", "peer", "address"] { keys[key] = nil }
        if var message = keys["message"] as? String {
            message.replace(#/ [0-9.]+ m?s( slow)?$/#, with: "")
            message.replace(#/127\.0\.0\.1:\d+/#, with: "127.0.0.1:PORT")
            keys["message"] = message
        }
        return keys as NSDictionary
    }
}
