/// The output of `relayctl trace extract` with --json.
struct ExtractionReport: Encodable, Sendable, Equatable {
    var schema = 1
    var folder: String
    /// In the order in which they ended.
    var files: [Item] = []
    /// Items from which no file could be made.
    var left: [Item] = []
    /// Number of files beyond the maximum.
    var more = 0

    struct Item: Encodable, Sendable, Equatable {
        /// Its name in the folder; nil if it was not written.
        var file: String?
        /// "video", "audio", "speech" or "file".
        var kind: String
        /// The name the app registered with.
        var app: String?
        /// For a file: the name the app gave it.
        var title: String?
        var format: String?
        var bytes: Int
        var seconds: Double
        var pictures: Int?
        var keyPictures: Int?
        /// "ok" or "wrong"; nil where the app sent none.
        var crc: String?
        var problems: [Problem]

        enum CodingKeys: String, CodingKey {
            case file, kind, app, title, format, bytes, seconds, pictures
            case keyPictures = "key_pictures"
            case crc, problems
        }
    }

    struct Problem: Encodable, Sendable, Equatable {
        var code: String
        var text: String
    }
}
