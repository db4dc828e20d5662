// Steps on the router's bench for the suites of driven requests.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

/// A head unit's response, in frames of limited size.
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
    /// A bench with an app that has session 1.
    static func withRadio() -> RouterBench {
        let bench = RouterBench()
        bench.open("radio", session: 1)
        return bench
    }

    /// Sends a request that the head unit hears.
    func asks() throws -> (id: OwnRequestID, correlation: Int32) {
        (try sends(), try heardCorrelation())
    }

    func sends(
        _ rpc: DrivenRPC = DrivenRPC(.show), session: UInt8 = 1, patience: TimeAmount = .seconds(10)
    ) throws -> OwnRequestID {
        try router.send(rpc, in: session, patience: patience, at: now)
    }

    /// The correlation ID of the RPC that the head unit has heard since the last call.
    func heardCorrelation() throws -> Int32 {
        let frames = heard()
        let frame = try #require(frames.last { $0.type == .single } ?? frames.dropFirst().first)
        return try #require(RPCHeader(frame.payload)).correlationID
    }
}
