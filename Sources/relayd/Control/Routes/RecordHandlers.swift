package import ControlAPI
import NIOCore
import NIOHTTP1
import SDLProtocol

/// Answers requests about recordings.
package struct RecordHandlers: Sendable {
    package var report: @Sendable () -> RecordReport
    package var start: @Sendable (_ name: String?) async throws -> RecordReport
    package var stop: @Sendable () async throws -> RecordReport
    package var save: @Sendable (_ name: String?) async throws -> SaveReport
    package var mark: @Sendable (_ text: String) async throws -> ActionReport
    /// Writes a trace of the traffic from now on, until the client leaves or relayd stops.
    var live: @Sendable (ResponseWriter, _ limit: Duration?) async throws -> Void
    /// The existing recordings.
    package var library = RecordingLibrary(nil)

    init(_ recorder: Recorder) {
        library = RecordingLibrary(recorder.policy.folder) { recorder.report.recording?.file }
        report = { recorder.report }
        start = { try await recorder.start($0) }
        stop = { try await recorder.stop() }
        save = { try await recorder.save($0) }
        mark = { try await recorder.mark($0) }
        live = { try await recorder.live(into: $0, for: $1) }
    }

    private init() {
        report = { RecordReport(directory: nil) }
        start = { _ in throw APIError(.conflict, "there is nothing to record") }
        stop = { throw APIError(.conflict, "nothing is being recorded") }
        save = { _ in throw APIError(.conflict, "there is no flight recorder") }
        mark = { _ in throw APIError(.conflict, "nothing is being recorded") }
        live = { _, _ in }
    }

    /// For a server without a relay behind it.
    package static let none = RecordHandlers()

    func addRoutes(to routes: inout RouteHandlers) {
        RecordingHandlers(library: library).addRoutes(to: &routes)
        routes.get(Routes.record) { _, _ in try ControlResponse.json(report()) }
        routes.post(Routes.recordStart) { request, _ in
            let wanted = try await request.controlBody(
                RecordRequest.self, example: #"{"name": "alert-missing"}"#)
            return try ControlResponse.json(try await start(wanted.name))
        }
        routes.post(Routes.recordStop) { request, _ in
            _ = try await request.controlBody(EmptyRequest.self, example: "{}")
            return try ControlResponse.json(try await stop())
        }
        routes.post(Routes.recordSave) { request, _ in
            let wanted = try await request.controlBody(
                RecordRequest.self, example: #"{"name": "alert-missing"}"#)
            return try ControlResponse.json(try await save(wanted.name))
        }
        routes.post(Routes.recordMark) { request, _ in
            let wanted = try await request.controlBody(
                MarkRequest.self, example: #"{"text": "the screen froze"}"#)
            return try ControlResponse.json(try await mark(try Self.line(wanted.text)))
        }
        routes.get(Routes.recordLive) { request, context in
            let limit = try Self.seconds(RequestQuery(request.head.uri))
            let place = try context.streamPlace(request)
            return ControlResponse(
                .ok, .ofMoment("application/x-pcapng"),
                body: .pieces { writer in
                    defer { withExtendedLifetime(place) {} }
                    try await live(writer, limit)
                })
        }
    }

    /// The text of a mark as one line.
    private static func line(_ text: String) throws(APIError) -> String {
        let count = text.unicodeScalars.count
        let line = PrintableText.string(text, limit: MarkRequest.maximumScalars)
        guard count <= MarkRequest.maximumScalars, line.contains(where: { !$0.isWhitespace }) else {
            let found =
                count > MarkRequest.maximumScalars ? "\(count) characters" : "nothing to read"
            throw APIError(
                .badRequest,
                "text has \(found); expected a line of 1 to \(MarkRequest.maximumScalars) characters"
            )
        }
        return line
    }

    /// The time after which a live trace ends; nil for never.
    private static func seconds(_ query: RequestQuery) throws(APIError) -> Duration? {
        var seconds: Int?
        for (name, value) in query.items {
            guard name == "seconds" else {
                throw APIError(
                    .badRequest,
                    "there is no \"\(PrintableText.string(name, limit: 40))\" in this query; known: "
                        + "seconds")
            }
            guard let number = Int(value), (1...86_400).contains(number) else {
                throw APIError(
                    .badRequest,
                    "seconds=\(PrintableText.string(value, limit: 40)); expected a whole number from 1 "
                        + "to 86400")
            }
            seconds = number
        }
        return seconds.map { .seconds($0) }
    }
}
