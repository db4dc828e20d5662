import ControlAPI
import NIOCore
import SDLProtocol
import Scenarios

/// A request to run a scenario: the query and the body of `POST /v1/scenarios/run`.
struct ScenarioRequest {
    let scenario: Scenario
    let values: [String: AnyJSON]
    let mayHarmOthers: Bool

    /// - Throws: `APIError` with all problems of the scenario, one line each.
    init(_ request: ControlRequest) async throws {
        let query = try RequestQuery(request.head.uri)
        var mayHarmOthers: Bool?
        for (name, text) in query.items {
            guard let key = ScenarioQueryKey(rawValue: name) else {
                throw Self.wrong(
                    "there is no \"\(PrintableText.string(name, limit: 40))\" in the query of a scenario; "
                        + "expected \(ScenarioQueryKey.allCases.map(\.rawValue).joined(separator: ", "))"
                )
            }
            guard key == .mayHarmOthers else { continue }
            guard mayHarmOthers == nil, ["0", "1"].contains(text) else {
                throw Self.wrong("\"\(key.rawValue)\" is expected once, as 0 or 1")
            }
            mayHarmOthers = text == "1"
        }
        let text = try await Self.text(of: request)
        var scenario: Scenario
        do throws(ScenarioErrors) { scenario = try ScenarioReader.read(text) } catch {
            throw Self.wrong(
                error.problems.map { PrintableText.string($0.line(file: "scenario")) }
                    .joined(separator: "\n"))
        }
        var values: [String: AnyJSON] = [:]
        for (name, text) in query.items {
            do throws(ScenarioChoiceError) {
                switch ScenarioQueryKey(rawValue: name) {
                case .app: try scenario.choose(app: text)
                case .set:
                    let (name, value) = try scenario.value(set: text)
                    values[name] = value
                case .mayHarmOthers, nil: break
                }
            } catch {
                throw Self.wrong(
                    "\(name) is \"\(PrintableText.string(text, limit: 100))\": "
                        + PrintableText.string(error.message, limit: 500))
            }
        }
        (self.scenario, self.values) = (scenario, values)
        self.mayHarmOthers = mayHarmOthers ?? false
    }

    /// The body: YAML.
    static func text(of request: ControlRequest) async throws -> String {
        var bytes: ByteBuffer
        do {
            bytes = try await request.body.whole(limit: ScenarioLimits.fileBytes)
        } catch is RequestBody.TooLong {
            throw APIError(
                .tooLarge,
                "the scenario has more than \(ScenarioLimits.fileBytes >> 10) KiB, which no scenario has"
            )
        }
        guard let text = String(validating: bytes.readableBytesView, as: UTF8.self) else {
            throw wrong("the scenario is not UTF-8 text; save it as UTF-8")
        }
        return text
    }

    private static func wrong(_ message: String) -> APIError { APIError(.badRequest, message) }
}
