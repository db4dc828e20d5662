// What the suites of driven requests say at the bench of the router.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

/// A head unit's response, in frames of so many bytes.
func drivenAnswer(
    _ function: FunctionID, _ correlation: Int32, session: UInt8 = 1, message: UInt32 = 5,
    json: String = #"{"success":true,"resultCode":"SUCCESS"}"#, limit: Int = 131_072
) -> [Frame] {
    let rpc = DrivenRPC(function, .response, json)
    return Frame.message(
        version: 5, sessionID: session, messageID: message,
        payload: rpc.payload(correlationID: correlation), limit: limit)
}

extension RouterBench {
    /// An app with session 1.
    static func withRadio() -> RouterBench {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        return bench
    }

    /// A request is sent, and the head unit has heard it.
    func asks() throws -> (id: OwnRequestID, correlation: Int32) {
        (try sends(), try heardCorrelation())
    }

    func sends(
        _ rpc: DrivenRPC = DrivenRPC(.show), session: UInt8 = 1, patience: TimeAmount = .seconds(10)
    ) throws -> OwnRequestID {
        try router.send(rpc, in: session, patience: patience, at: now)
    }

    /// Correlation ID of the RPC that the head unit has heard since the last look.
    func heardCorrelation() throws -> Int32 {
        let frames = heard()
        let frame = try #require(frames.last { $0.type == .single } ?? frames.dropFirst().first)
        return try #require(RPCHeader(frame.payload)).correlationID
    }
}
