import ControlAPI
import NIOCore
import NIOHTTP1
import SDLTraffic

/// Answers requests about existing recordings: the list, the files, and their contents.
struct RecordingHandlers: Sendable {
    let library: RecordingLibrary

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.recordings) { _, _ in
            try ControlResponse.json(try await library.list())
        }
        routes.get(Routes.recording) { request, context in try await file(request, context) }
        routes.get(Routes.recordingInfo) { request, context in
            let place = try context.streamPlace(request)
            defer { withExtendedLifetime(place) {} }
            return try ControlResponse.json(try await library.info(context.segment("name")))
        }
        routes.get(Routes.recordingStats) { request, context in
            let place = try context.streamPlace(request)
            defer { withExtendedLifetime(place) {} }
            return try ControlResponse.json(try await library.statistics(context.segment("name")))
        }
        routes.get(Routes.recordingMessages) { request, context in
            let wanted = try MessageRequest(request, for: .list)
            let place = try context.streamPlace(request)
            defer { withExtendedLifetime(place) {} }
            let page = try await library.messages(context.segment("name"), wanted)
            return ControlResponse(
                .ok, .ofMoment("application/json; charset=utf-8"),
                body: MessageList(page, wanted).body)
        }
    }

    private func file(
        _ request: ControlRequest, _ context: RouteContext
    ) async throws -> ControlResponse {
        let place = try context.streamPlace(request)
        let file = try await library.open(context.segment("name"))
        var headers = HTTPHeaders.ofMoment("application/x-pcapng")
        headers.add(name: "Content-Disposition", value: Self.disposition(file.name))
        // The number of whole blocks in a file that is being written is not known beforehand.
        if !file.isGrowing { headers.add(name: "Content-Length", value: "\(file.bytes)") }
        return ControlResponse(
            .ok, headers,
            body: .pieces { writer in
                defer { withExtendedLifetime(place) {} }
                try await library.send(file, into: writer)
            })
    }

    /// Includes the name only if it needs no quoting (RFC 6266), as relayd's own names do.
    private static func disposition(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isPlain ? "attachment; filename=\"\(name)\"" : "attachment"
    }
}

extension MessageList {
    fileprivate init(_ page: RecordingLibrary.Page, _ request: MessageRequest) {
        self.init(
            instance: page.instance, range: page.latest > 0 ? 1...page.latest : nil,
            reading: page.reading, request: request)
        (isAtEnd, problem) = (page.isAtEnd, page.problem)
    }
}
