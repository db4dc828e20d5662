// The table of routes: what relayd answers, and who may ask for it. All decisions about a request use
// this table; paths are compared nowhere else.

/// One request relayd answers on its control socket.
package struct Route: Codable, Sendable, Hashable {
    /// HTTP method, e.g. "GET".
    package let method: String
    /// Path; a segment that starts with ":" stands for any one segment.
    package let path: String
    /// Who may ask.
    package let access: RouteAccess
    /// What it answers, in one sentence.
    package let summary: String

    package init(
        method: String = "GET", path: String, access: RouteAccess = .read, summary: String
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.summary = summary
    }
}

/// Who may use a route. How each door checks it is decided by `RequestGate`.
package struct RouteAccess: OpenValue {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Anyone who can connect: the page itself, the list of routes and their description.
    package static let open = RouteAccess(rawValue: "open")
    /// Clients that may read.
    package static let read = RouteAccess(rawValue: "read")
    /// Clients that may change something.
    package static let write = RouteAccess(rawValue: "write")
    /// Clients that may change something: recorded data, including what was recorded while nobody was
    /// watching.
    package static let kept = RouteAccess(rawValue: "kept")
    /// The control socket's owners, who need the token if they connect in another way, while
    /// `drive.enabled` allows it: routes that speak or act in the place of an app or the head unit.
    package static let drive = RouteAccess(rawValue: "drive")
    /// Clients that may change something, on the Unix socket only, and no browsers: the token.
    package static let secret = RouteAccess(rawValue: "secret")
}

/// The control API's table of contents: relayd serves these routes, the tool requests them, and `GET /`
/// and every "no such route" error list them.
package enum Routes {
    package static let index = "/"
    package static let status = "/v1/status"
    package static let health = "/v1/health"
    package static let apps = "/v1/apps"
    package static let app = "/v1/apps/:app"
    package static let permission = "/v1/apps/:app/permissions/:rpc"
    package static let disconnect = "/v1/apps/:app/disconnect"
    package static let send = "/v1/apps/:app/send"
    package static let inject = "/v1/apps/:app/inject"
    package static let stream = "/v1/apps/:app/stream"
    package static let reopen = "/v1/link/reopen"
    package static let server = "/v1/server"
    package static let log = "/v1/log"
    package static let config = "/v1/config"
    package static let specification = "/v1/specification"
    package static let devices = "/v1/devices"
    package static let stats = "/v1/stats"
    package static let events = "/v1/events"
    package static let eventStream = "/v1/events/stream"
    package static let metrics = "/metrics"
    package static let reload = "/v1/reload"
    package static let advice = "/v1/advice"
    package static let messages = "/v1/messages"
    package static let messageStream = "/v1/messages/stream"
    package static let message = "/v1/messages/:n"
    package static let record = "/v1/record"
    package static let recordStart = "/v1/record/start"
    package static let recordStop = "/v1/record/stop"
    package static let recordSave = "/v1/record/save"
    package static let recordMark = "/v1/record/mark"
    package static let recordLive = "/v1/record/live"
    package static let recordings = "/v1/recordings"
    package static let recording = "/v1/recordings/:name"
    package static let recordingInfo = "/v1/recordings/:name/info"
    package static let recordingStats = "/v1/recordings/:name/stats"
    package static let recordingMessages = "/v1/recordings/:name/messages"
    package static let vehicle = "/v1/vehicle"
    package static let vehicleStream = "/v1/vehicle/stream"
    package static let vehicleCommand = "/v1/vehicle/command"
    package static let vehicleDiagnostic = "/v1/vehicle/diagnostic"
    package static let vehicleWrite = "/v1/vehicle/write"
    package static let faults = "/v1/faults"
    package static let fault = "/v1/faults/:id"
    package static let scenarios = "/v1/scenarios"
    package static let scenarioCheck = "/v1/scenarios/check"
    package static let scenarioRun = "/v1/scenarios/run"
    package static let dashboard = "/v1/dashboard"
    package static let openAPI = "/v1/openapi.json"
    /// The page for browsers. Browsers get it at `index` as well.
    package static let page = "/dashboard"
    package static let pageFile = "/dashboard/:file"
    package static let pageAccess = "/dashboard/access"

    package static let all = [
        Route(path: index, access: .open, summary: "this list"),
        Route(
            path: status,
            summary: "head unit, session link, server and apps at this moment"),
        Route(
            path: health,
            summary: "200 when the head unit is open and apps can connect, else 503; says why"),
        Route(path: apps, summary: "connected apps, and those that left last"),
        Route(
            path: app,
            summary: "everything known about a connected app; :app is its number, name or app ID"),
        Route(
            path: permission,
            summary: "whether that app may use that RPC now, and why"),
        Route(
            path: advice,
            summary: "what is probably wrong, newest first"),
        Route(
            path: messages,
            summary: "the latest messages; filters and cursor in the query"),
        Route(
            path: messageStream,
            summary: "messages as they come, one JSON object per line; same filters"),
        Route(
            path: message,
            summary: "one message whole, with the one it answers or is answered by"),
        Route(
            path: events,
            summary: "what happened to link, apps and relayd; cursor in the query"),
        Route(
            path: eventStream,
            summary: "events as they come, one JSON object per line"),
        Route(
            path: stats,
            summary: "what has been counted: frames and bytes by app and service, RPCs, latency"),
        Route(
            path: config,
            summary: "the configuration in force, and where each value is from"),
        Route(
            path: specification,
            summary: "the RPC specification in force: functions, structs and enumerations"),
        Route(
            path: devices,
            summary: "USB devices and ttys as relayd sees them; none is opened"),
        Route(path: metrics, summary: "metrics in the Prometheus text format"),
        Route(
            path: log, summary: "what is logged: level, traffic and its filters"),
        Route(
            method: "PUT", path: log, access: .write,
            summary: "changes what is logged until relayd stops; absent fields stay"),
        Route(
            method: "POST", path: apps, access: .drive,
            summary: "registers an app that is relayd itself, or has it leave"),
        Route(
            method: "POST", path: send, access: .drive,
            summary: "sends an RPC to the head unit in the app's place, and answers with its answer"
        ),
        Route(
            method: "POST", path: inject, access: .drive,
            summary: "says a notification or an answer to the app in the head unit's place"),
        Route(
            method: "POST", path: stream, access: .drive,
            summary: "streams video or audio in the app's place, at its own pace"),
        Route(
            method: "DELETE", path: stream, access: .drive,
            summary: "ends what is streamed in the app's place"),
        Route(
            method: "POST", path: disconnect, access: .write,
            summary: "ends an app's sessions and closes its connection"),
        Route(
            method: "POST", path: reopen, access: .write,
            summary: "closes the link to the head unit and opens it"),
        Route(
            method: "PUT", path: server, access: .write,
            summary: "lets apps connect, or sends them away and closes their port"),
        Route(
            method: "POST", path: reload, access: .write,
            summary: "reads the configuration again and applies what can change at run time"),
        Route(path: record, summary: "what is being recorded, and what was last"),
        Route(
            path: recordLive,
            summary: "what passes from now on as a trace (pcapng), until the client leaves"),
        Route(
            method: "POST", path: recordStart, access: .write,
            summary: "begins to record all frames into a file"),
        Route(
            method: "POST", path: recordSave, access: .write,
            summary: "writes what the flight recorder has kept into a file"),
        Route(
            method: "POST", path: recordMark, access: .write,
            summary: "puts a mark into what is being recorded, to be found again"),
        Route(
            method: "POST", path: recordStop, access: .write,
            summary: "ends the recording; answers when its last frame is written"),
        Route(
            path: recordings, access: .kept, summary: "the recordings there are, the newest first"),
        Route(
            path: recording, access: .kept,
            summary: "one recording as a file (pcapng); latest stands for the newest"),
        Route(
            path: recordingInfo, access: .kept,
            summary: "what is in a recording: when, who, how much, and what went wrong"),
        Route(
            path: recordingStats, access: .kept,
            summary: "what is counted in a recording: traffic, RPCs, latency, streams"),
        Route(
            path: recordingMessages, access: .kept,
            summary: "the messages of a recording; filters and cursor in the query"),
        Route(
            path: vehicle,
            summary: "a vehicle interface: latest values, CAN, diagnostics and clients"),
        Route(
            path: vehicleStream,
            summary: "what passes between it and its clients, one JSON object per line"),
        Route(
            method: "POST", path: vehicleStream, access: .write,
            summary: "the same; while it is open, buses are passed through and requests repeated"),
        Route(
            method: "POST", path: vehicleCommand, access: .write,
            summary: "gives the vehicle interface a command, and answers with its answer"),
        Route(
            method: "POST", path: vehicleDiagnostic, access: .write,
            summary: "asks modules of the vehicle once, and answers with what they say"),
        Route(
            method: "POST", path: vehicleWrite, access: .write,
            summary: "writes a signal or a CAN frame to the vehicle, if openxc.writes allows it"),
        Route(
            path: faults, summary: "fault rules, and what they have done"),
        Route(
            method: "POST", path: faults, access: .drive,
            summary: "adds fault rules, or a fault of the link"),
        Route(
            method: "DELETE", path: faults, access: .drive,
            summary: "removes all fault rules"),
        Route(
            method: "DELETE", path: fault, access: .drive,
            summary: "removes a fault rule; what it holds passes"),
        Route(
            path: scenarios, summary: "the ready scenarios with their text, and which one runs"),
        Route(
            method: "POST", path: scenarioCheck, access: .drive,
            summary: "says what is wrong with a scenario, without running it"),
        Route(
            method: "POST", path: scenarioRun, access: .drive,
            summary: "runs a scenario, and tells its steps as they come; until the client leaves"),
        Route(
            method: "DELETE", path: scenarioRun, access: .drive,
            summary: "ends the scenario that runs"),
        Route(
            path: dashboard, access: .secret,
            summary: "where the dashboard is, and its token; on the Unix socket only"),
        Route(
            path: openAPI, access: .open, summary: "this API as an OpenAPI 3.1 document"),
        Route(path: page, access: .open, summary: "the dashboard, a page for browsers"),
        Route(
            path: pageFile, access: .open, summary: "the files that page is made of"),
        Route(
            path: pageAccess, access: .open,
            summary: "which requests are allowed here; for that page"),
    ]
}

extension Routes {
    /// A path with its ":" segments filled in, with any characters.
    package static func path(_ route: String, _ segments: String...) -> String {
        var rest = segments[...]
        let parts = route.split(separator: "/").map { segment in
            segment.hasPrefix(":") ? (rest.popFirst() ?? "").percentEncoded() : String(segment)
        }
        return "/" + parts.joined(separator: "/")
    }
}

extension String {
    /// Percent-encodes all but letters, digits, "-", "_" and those unreserved characters that are to be
    /// kept (RFC 3986, 2.3). Do not keep "." in a path: a segment of dots would be taken for a step.
    package func percentEncoded(except kept: String = "") -> String {
        var result = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            case _ where kept.utf8.contains(byte):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                // By hand, because this module depends on no other that has Swift.
                let digits = String(byte, radix: 16, uppercase: true)
                result += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return result
    }
}

/// The answer to `GET /`.
package struct RouteList: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    /// Always "relayd".
    package let service: String
    /// Version of relayd.
    package let version: String
    package let routes: [Route]

    package init(service: String = "relayd", version: String = Version.current, routes: [Route]) {
        self.service = service
        self.version = version
        self.routes = routes
    }
}

/// The answer to `GET /v1/health`, with status 200 when `health` is "ok" and 503 otherwise.
package struct HealthReport: Codable, Sendable, Equatable {
    /// Version of the JSON layout: 1.
    package var schema = 1
    package let health: Health
    package let summary: String

    package init(_ snapshot: StatusSnapshot) {
        health = snapshot.health
        summary = snapshot.summary
    }
}
