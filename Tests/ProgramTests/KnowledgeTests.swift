// What relayd knows of an app: a life with a bit of everything, told by the built relayctl.

import ControlAPI
import Foundation
import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@Suite("relayctl app and permissions against the built relayd", .serialized)
struct KnowledgeTests {
    /// Makes an app register, be shown, and set up something of everything; its last request waits for
    /// its answer.
    private func live(_ app: FramePeer, _ headUnit: FramePeer) async throws {
        try await headUnit.start(1, for: app)
        try await headUnit.exchange(
            .rpc(session: 1, .request, .registerAppInterface, json: Self.registration),
            Self.answer(.registerAppInterface, 1, Self.registered), with: app)
        try await headUnit.tell(app, .onPermissionsChange, Self.permissions)
        for level in ["NONE", "FULL"] {
            try await headUnit.tell(
                app, .onHMIStatus,
                #"{"hmiLevel":"\#(level)","audioStreamingState":"AUDIBLE","#
                    + #""videoStreamingState":"STREAMABLE","systemContext":"MAIN"}"#)
        }
        var correlationID: Int32 = 1
        for (function, json, more) in Self.requests {
            correlationID += 1
            try await headUnit.exchange(
                .rpc(session: 1, .request, function, correlation: correlationID, json: json),
                Self.answer(function, correlationID, more), with: app)
        }
        try await headUnit.tell(app, .onVehicleData, #"{"speed":42.5}"#)
        let grant = Frame.control(.startServiceACK, service: .video, session: 1)
        let start = Frame.control(.startService, service: .video, session: 1)
        try await app.send(start)
        #expect(try await headUnit.next() == start)
        try await headUnit.send(grant)
        #expect(try await app.next() == grant)
        let picture = Frame.data(session: 1, service: .video, bytes: 5000)
        let waiting = Frame.rpc(session: 1, .request, .alert, correlation: 99)
        for frame in [picture, waiting] {
            try await app.send(frame)
            #expect(try await headUnit.next() == frame)
        }
    }

    private static let registration = """
        {"syncMsgVersion":{"majorVersion":7,"minorVersion":0},"appName":"Music","appID":"m-1",\
        "isMediaApplication":true,"languageDesired":"EN-US","hmiDisplayLanguageDesired":"EN-US",\
        "appHMIType":["MEDIA"]}
        """
    private static let registered = #""syncMsgVersion":{"majorVersion":6,"minorVersion":2}"#
    private static let permissions = """
        {"permissionItem":[\
        {"rpcName":"Show","hmiPermissions":{"allowed":["FULL","LIMITED"],"userDisallowed":[]},\
        "parameterPermissions":{"allowed":[],"userDisallowed":[]}},\
        {"rpcName":"Speak","hmiPermissions":{"allowed":["LIMITED"],"userDisallowed":[]},\
        "parameterPermissions":{"allowed":[],"userDisallowed":[]}}]}
        """
    private static let requests: [(FunctionID, String, String?)] = [
        (
            .getSystemCapability, #"{"systemCapabilityType":"VIDEO_STREAMING"}"#,
            #""systemCapability":{"systemCapabilityType":"VIDEO_STREAMING","#
                + #""videoStreamingCapability":{"preferredResolution":{"resolutionWidth":800,"#
                + #""resolutionHeight":480},"maxBitrate":10000}}"#
        ),
        (.listFiles, "{}", #""filenames":["cover.png"],"spaceAvailable":1048576"#),
        (.subscribeButton, #"{"buttonName":"OK"}"#, nil),
        (.subscribeVehicleData, #"{"speed":true}"#, nil),
        (.addCommand, #"{"cmdID":19,"menuParams":{"menuName":"Louder"}}"#, nil),
        (.addSubMenu, #"{"menuID":3,"menuName":"Genres"}"#, nil),
        (
            .createInteractionChoiceSet,
            #"{"interactionChoiceSetID":7,"choiceSet":[{"choiceID":1,"menuName":"Jazz"}]}"#, nil
        ),
    ]

    private static func answer(
        _ function: FunctionID, _ correlationID: Int32, _ more: String?
    ) -> Frame {
        let rest = more.map { ",\($0)" } ?? ""
        return .rpc(
            session: 1, .response, function, correlation: correlationID,
            json: #"{"success":true,"resultCode":"SUCCESS"\#(rest)}"#)
    }

    @Test("app prints everything that is known of it, permissions tells whether and why not")
    func everything() async throws {
        try await FakeAccessory.run { accessory in
            try await Relayd.run(accessory: "tcp:127.0.0.1:\(accessory.port)") { relayd in
                let headUnit = try await accessory.nextLink()
                let app = try await relayd.connectApp()
                try await live(app, headUnit)
                // Observers know it a moment after it was forwarded.
                try await relayd.process.output.first(containing: "Alert #99")

                let text = try await relayd.relayctl("app", "Music")
                #expect(text.ending == .exited(0) && text.errors.isEmpty)
                for words in [
                    "Music", "ID m-1", "session 1", "protocol 5.4.0", "RPC 6.2.0", "RPC 7.0.0",
                    "MEDIA", "FULL  AUDIBLE  STREAMABLE  MAIN", "NONE  AUDIBLE",
                    "Alert #99 of the app",
                    "1 of 2 RPCs in FULL", "not now   Speak", "800×480", "up to 10000 kbit/s",
                    "cover.png", "1.0 MiB free", "told of   OK", "speed = 42.5",
                    "command 19  Louder",
                    "sub menu 3  Genres", "choice set 7  1 choice", "video     session 1",
                ] {
                    #expect(text.output.contains(words), "\(words)\n---\n\(text.output)")
                }
                // A stream's rate is known when its second is over.
                let report = try await relayd.until(
                    "the stream's second is over", ask: { try await self.report(relayd) }
                ) { $0.services.last?.bytes == 5000 }
                #expect(report.services.map(\.service) == ["rpc", "video"])
                #expect(report.services.last?.bytes == 5000 && report.services.last?.frames == 1)
                #expect(report.hmi.map(\.level) == ["FULL", "NONE"])
                #expect(report.pending.map(\.rpc) == ["Alert"])

                let yes = try await relayd.relayctl("permissions", "Music", "Show")
                #expect(yes.ending == .exited(0) && yes.output.contains("yes"))
                let level = try await relayd.relayctl("permissions", "music", "Speak")
                #expect(level.ending == .exited(1) && level.output.contains("LIMITED"))
                let never = try await relayd.relayctl("permissions", "m-1", "Alert")
                #expect(never.ending == .exited(1) && never.output.contains("no"))
                let unknown = try await relayd.relayctl("permissions", "Music", "Shw")
                #expect(unknown.ending == .exited(3) && unknown.errors.contains("Show"))
                await app.close()
            }
        }
    }

    private func report(_ relayd: Relayd) async throws -> AppReport {
        let json = try await relayd.relayctl("app", "Music", "--json").output
        return try APICoding.decode(AppReport.self, from: Array(json.utf8))
    }
}

extension HeadUnit {
    /// Sends a notification, which the app gets byte for byte.
    fileprivate func tell(_ app: FramePeer, _ function: FunctionID, _ json: String) async throws {
        let frame = Frame.rpc(session: 1, .notification, function, correlation: 0, json: json)
        try await send(frame)
        #expect(try await app.next() == frame)
    }
}
