// Registers an app, so that everything after that is everyday traffic.

import NIOCore
import RelayTesting
import SDLProtocol

/// The dialogue of an app that opens a session and registers.
enum Registration {
    private static let correlationID: Int32 = 1

    /// Plays both ends; afterwards no bytes are left on the way.
    ///
    /// - Parameter granted: The session that the head unit grants.
    /// - Returns: The session.
    static func play(app: Socket, headUnit: Socket, granted: UInt8 = 1) throws -> UInt8 {
        var (app, headUnit) = (FrameSocket(app), FrameSocket(headUnit))
        try app.send(.startService())
        _ = try headUnit.next()
        try headUnit.send(.startServiceACK(session: granted))
        let session = try app.next().sessionID
        try app.send(request(session: session, number: Int(granted)))
        _ = try headUnit.next()
        try headUnit.send(
            .rpc(
                session: session, .response, .registerAppInterface, correlation: correlationID,
                json: #"{"success":true,"resultCode":"SUCCESS"}"#))
        _ = try app.next()
        try headUnit.send(
            .rpc(
                session: session, .notification, .onHMIStatus, correlation: 0,
                json: """
                    {"hmiLevel":"FULL","audioStreamingState":"AUDIBLE","systemContext":"MAIN"}
                    """))
        _ = try app.next()
        return session
    }

    /// Plays the app only, against the simulated head unit.
    ///
    /// - Parameter number: Tells apps of one head unit apart.
    static func play(app: Socket, number: Int = 1) throws {
        var app = FrameSocket(app)
        try app.send(.startService())
        let grant = try app.next { $0.controlType == .startServiceACK }
        try app.send(request(session: grant.sessionID, number: number))
        _ = try app.next { frame in
            guard frame.type == .single, let header = RPCHeader(frame.payload) else { return false }
            return header.type == .response && header.correlationID == correlationID
        }
    }

    private static func request(session: UInt8, number: Int) -> Frame {
        .rpc(
            session: session, .request, .registerAppInterface, correlation: correlationID,
            json: """
                {"appName":"Benchmark \(number)","appID":"bench-\(number)","isMediaApplication":false,\
                "languageDesired":"EN-US","hmiDisplayLanguageDesired":"EN-US",\
                "syncMsgVersion":{"majorVersion":7,"minorVersion":1,"patchVersion":0}}
                """)
    }
}
