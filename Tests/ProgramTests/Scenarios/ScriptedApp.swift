// An app for tests of scenarios: it does what apps do, and also what they should not.

import NIOCore
import RelayTesting
import SDLProtocol
import Testing

/// Sends and receives RPCs in one session of its own. Keeps what comes while it waits for something else.
final class ScriptedApp {
    private let peer: FramePeer
    private let session: UInt8
    private var number: UInt32 = 10
    private var kept: [Heard] = []

    struct Heard {
        var type: RPCType
        var function: FunctionID
        var correlation: Int32
        var json: String
    }

    private init(_ peer: FramePeer, _ session: UInt8) {
        (self.peer, self.session) = (peer, session)
    }

    /// Connects, opens a session and registers.
    static func start(
        _ relayd: Relayd, name: String = "Radio", hashID: String? = nil
    ) async throws -> (app: ScriptedApp, registration: String) {
        let peer = try await relayd.connectApp()
        let app = ScriptedApp(peer, try await peer.startSession().sessionID)
        var parameters = registration(name)
        if let hashID { parameters = parameters.dropLast() + ",\"hashID\":\"\(hashID)\"}" }
        let answer = try await app.ask(.registerAppInterface, parameters)
        return (app, answer)
    }

    /// Sends a request, and returns the JSON of its answer.
    @discardableResult
    func ask(_ function: FunctionID, _ json: String = "{}", bulk: Int = 0) async throws -> String {
        let correlation = try await say(function, json, bulk: bulk)
        return try await hear { $0.type == .response && $0.correlation == correlation }.json
    }

    /// Sends a request and waits for nothing.
    @discardableResult
    func say(_ function: FunctionID, _ json: String = "{}", bulk: Int = 0) async throws -> Int32 {
        number += 1
        let correlation = Int32(number)
        try await peer.send(
            .rpc(
                version: 5, service: bulk == 0 ? .rpc : .bulk, sessionID: session,
                messageID: number, type: .request, functionID: function.rawValue,
                correlationID: correlation, json: json,
                bulk: ByteBuffer(repeating: 0x5A, count: bulk)))
        return correlation
    }

    /// The next notification of this function with this text in it.
    @discardableResult
    func hear(_ function: FunctionID, _ text: String = "") async throws -> String {
        try await hear {
            $0.type == .notification && $0.function == function
                && (text.isEmpty || $0.json.contains(text))
        }.json
    }

    private func hear(_ isWanted: (Heard) -> Bool) async throws -> Heard {
        if let index = kept.firstIndex(where: isWanted) { return kept.remove(at: index) }
        while true {
            let frame = try await peer.next()
            guard frame.type == .single, let header = RPCHeader(frame.payload) else { continue }
            let heard = Heard(
                type: header.type, function: FunctionID(rawValue: header.functionID),
                correlation: header.correlationID, json: String(buffer: frame.payload))
            if isWanted(heard) { return heard }
            kept.append(heard)
        }
    }

    /// Returns when relayd has closed the connection.
    func gone() async {
        while (try? await peer.next()) != nil {}
    }

    func close() async { await peer.close() }

    static let putFile = #"{"syncFileName":"cover","fileType":"GRAPHIC_PNG"}"#
}

/// `relayctl run` beside an app.
enum ScenarioBench {
    /// Runs the body once relayctl sees the traffic, then returns how relayctl ended.
    ///
    /// - Parameter title: Of the scenario.
    static func run(
        _ relayd: Relayd, _ arguments: [String], title: String,
        _ body: () async throws -> Void
    ) async throws -> (ending: ChildProcess.Ending, output: String, errors: String) {
        let process = try await Program.relayctl.start(
            ["run"] + arguments,
            environment: ["RELAYD_SOCKET": relayd.controlSocket])
        do {
            try await process.output.first(containing: title)
            try await body()
        } catch {
            process.signal(15)
            _ = try? await process.ended()
            Issue.record("relayctl said: \(process.output.all) \(process.errors.all)")
            throw error
        }
        let ending = try await process.ended()
        return (
            ending, try await process.output.untilEnd().joined(separator: "\n"),
            try await process.errors.untilEnd().joined(separator: "\n")
        )
    }
}
