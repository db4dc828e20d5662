import ControlAPI
import NIOCore
import SDLProtocol
import Testing

@testable import Scenarios

/// A running scenario with both sides played by the test: messages arrive, requests are checked and answered,
/// time passes.
struct PlayedScenario {
    var run: ScenarioRun
    var now = Duration.zero
    private var number = 0

    init(_ yaml: String, values: [String: AnyJSON] = [:]) throws {
        run = ScenarioRun(try ScenarioReader.read(yaml), values: values)
        run.begin()
    }

    /// The requests it makes now.
    mutating func asks() -> [ScenarioRequest] { run.takeRequests() }

    /// The single request it makes now.
    mutating func asked(
        _ location: SourceLocation = #_sourceLocation
    ) throws -> ScenarioRequest {
        let requests = run.takeRequests()
        try #require(requests.count == 1, "\(requests)", sourceLocation: location)
        return requests[0]
    }

    mutating func answer(_ request: ScenarioRequest, _ reply: ScenarioReply) {
        run.receive(reply, to: request.id, at: now)
    }

    /// Adds a message from the app.
    mutating func app(
        _ function: String, _ parameters: String = "{}", kind: String = "request", app: Int = 1,
        name: String = "Radio", more: String = ""
    ) throws {
        try line(
            ##""kind":"\##(kind)","from":"app","app":"#\##(app)","app_name":"\##(name)","##
                + #""function":"\#(function)","correlation_id":\#(number + 1)\#(more),"params":\#(parameters)"#
        )
    }

    /// Adds a message from the head unit.
    mutating func unit(
        _ function: String, _ parameters: String = "{}", kind: String = "response", app: Int = 1,
        more: String = ""
    ) throws {
        try line(
            ##""kind":"\##(kind)","from":"accessory","app":"#\##(app)","app_name":"Radio","##
                + #""function":"\#(function)"\#(more),"params":\#(parameters)"#)
    }

    mutating func line(_ members: String) throws {
        number += 1
        let json = try JSONObject(
            ByteBuffer(string: #"{"n":\#(number),"priority":"info","message":"m",\#(members)}"#))
        run.receive([try #require(ScenarioMessage(json))], at: now)
    }

    mutating func passes(_ time: Duration) {
        now += time
        run.advance(to: now)
    }

    var failure: ScenarioFailure? {
        run.result(file: "f").steps.compactMap(\.failure).first
    }
}

func problems(_ yaml: String) -> [String] {
    do throws(ScenarioErrors) {
        _ = try ScenarioReader.read(yaml)
        return []
    } catch {
        return error.problems.map { $0.line(file: "f") }
    }
}
