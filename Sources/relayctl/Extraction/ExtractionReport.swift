/// What --json of `relayctl trace extract` prints.
struct ExtractionReport: Encodable, Sendable, Equatable {
    var schema = 1
    var folder: String
    /// In the order in which they ended.
    var files: [Item] = []
    /// What nothing could be made of.
    var left: [Item] = []
    /// Files beyond those that are made at most.
    var more = 0

    struct Item: Encodable, Sendable, Equatable {
        /// Its name in the folder; nil of what was not written.
        var file: String?
        /// "video", "audio", "speech" or "file".
        var kind: String
        /// As it registered.
        var app: String?
        /// Of a file: what the app calls it.
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
