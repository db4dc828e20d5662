// What apps and head units say to each other in these tests, step by step.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

/// RegisterAppInterface of an app with this name, as head units want it.
func registration(_ name: String) -> String {
    """
    {"syncMsgVersion":{"majorVersion":5,"minorVersion":0},"appName":"\(name)",\
    "isMediaApplication":false,"languageDesired":"EN-US","hmiDisplayLanguageDesired":"EN-US",\
    "appID":"\(name)-id"}
    """
}

/// A head unit played by a test: over TCP, or at the far end of a serial line.
protocol HeadUnit {
    func send(_ frames: Frame...) async throws
    func next() async throws -> Frame
}

extension FramePeer: HeadUnit {}

extension HeadUnit {
    /// Gives this session to the app that asks next; returns when the app knows.
    func start(_ session: UInt8, for app: FramePeer, hashID: UInt32? = nil) async throws {
        try await app.send(.startService())
        #expect(try await next() == .startService())
        let grant = Frame.startServiceACK(session: session, hashID: hashID)
        try await send(grant)
        #expect(try await app.next() == grant)
    }

    /// Carries an app's registration there and back; the relay's own words to the head unit, for
    /// apps that left before, are passed over.
    func register(_ app: FramePeer, session: UInt8, name: String) async throws {
        try await exchange(
            .rpc(session: session, .request, .registerAppInterface, json: registration(name)),
            .rpc(
                session: session, .response, .registerAppInterface,
                json: #"{"success":true,"resultCode":"SUCCESS"}"#),
            with: app)
    }

    /// Exchanges an app's request and the head unit's response, each forwarded byte for byte.
    func exchange(_ request: Frame, _ response: Frame, with app: FramePeer) async throws {
        try await app.send(request)
        #expect(try await next() == request)
        try await send(response)
        #expect(try await app.next() == response)
    }

    /// Exchanges a Show and its response: both directions work.
    func checkBothWays(_ app: FramePeer, session: UInt8, _ number: UInt32 = 100) async throws {
        try await exchange(
            Self.request(number, session), Self.response(number, session), with: app)
    }

    /// The app's request in that exchange; `response` is the answer to it.
    static func request(_ number: UInt32, _ session: UInt8) -> Frame {
        .rpc(
            session: session, message: number, .request, .show, correlation: Int32(number),
            json: #"{"mainField1":"round \#(number)"}"#)
    }

    static func response(_ number: UInt32, _ session: UInt8) -> Frame {
        .rpc(
            session: session, message: number, .response, .show, correlation: Int32(number),
            json: #"{"success":true,"resultCode":"SUCCESS"}"#)
    }

    /// Expects the goodbye that relayd says for an app: EndService with its hash, preceded by an
    /// Unregister, which is answered, if the app leaves for good.
    func expectFarewell(session: UInt8, hashID: UInt32, unregisters: Bool = false) async throws {
        if unregisters {
            let unregister = try await next()
            #expect(unregister.sessionID == session)
            let header = try #require(RPCHeader(unregister.payload))
            #expect(header.type == .request)
            #expect(header.functionID == FunctionID.unregisterAppInterface.rawValue)
            let answer = try #require(unregister.success)
            // On a busy machine relayd may have given up waiting and be gone; EndService has come all the
            // same.
            try? await send(answer)
        }
        let end = try await next()
        #expect(end.controlType == .endService)
        #expect(end.service == .rpc)
        #expect(end.sessionID == session)
        #expect(ControlPayload(end).hashID == hashID)
    }
}

extension FramePeer {
    /// Asks for a session and returns the grant, as an app facing a simulated head unit does.
    func startSession() async throws -> Frame {
        try await send(.startService())
        let answer = try await next()
        #expect(answer.controlType == .startServiceACK)
        return answer
    }

    /// Registers with a simulated head unit; also returns whatever comes before the response.
    @discardableResult
    func register(_ name: String, session: UInt8) async throws -> [Frame] {
        try await send(
            .rpc(session: session, .request, .registerAppInterface, json: registration(name)))
        var frames: [Frame] = []
        while true {
            let frame = try await next()
            frames.append(frame)
            guard frame.type == .single, let header = RPCHeader(frame.payload),
                header.type == .response,
                header.functionID == FunctionID.registerAppInterface.rawValue
            else { continue }
            let answer = String(buffer: frame.payload)
            #expect(answer.contains(#""resultCode":"SUCCESS""#), "\(answer)")
            return frames
        }
    }
}
