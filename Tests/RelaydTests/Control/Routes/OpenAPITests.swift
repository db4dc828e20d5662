import ControlAPI
import Foundation
import RelayTesting
import Testing

@testable import relayd

// GET /v1/openapi.json against the table of routes and the words of queries. generate-openapi --check verifies
// that it agrees with API.md; the tests of API.md and schemathesis verify that it is true.

@Suite("The OpenAPI document")
struct OpenAPITests {
    private func document() async throws -> [String: Any] {
        var text = ""
        try await ControlTestServer.with { test in
            text = try await test.get(Routes.openAPI)
        }
        let body = try #require(text.firstRange(of: "\r\n\r\n"))
        return try #require(
            JSONSerialization.jsonObject(with: Data(text[body.upperBound...].utf8))
                as? [String: Any])
    }

    @Test("it has every route with its access, and no other") func routes() async throws {
        let paths = try #require(try await document()["paths"] as? [String: [String: Any]])
        var found: [String: String] = [:]
        for (path, operations) in paths {
            for (method, operation) in operations {
                let own = path.replacing(#/\{([a-z]+)\}/#) { ":\($0.1)" }
                let access = (operation as? [String: Any])?["x-access"] as? String
                found["\(method.uppercased()) \(own)"] = access
            }
        }
        let served = Routes.all.map { ("\($0.method) \($0.path)", $0.access.rawValue) }
        #expect(found == Dictionary(uniqueKeysWithValues: served))
    }

    @Test("it has every key of every query") func queries() async throws {
        let paths = try #require(try await document()["paths"] as? [String: [String: Any]])
        func keys(_ path: String) throws -> Set<String> {
            let operation = try #require(paths[path]?["get"] as? [String: Any])
            let parameters = operation["parameters"] as? [[String: Any]] ?? []
            return Set(parameters.compactMap { $0["name"] as? String })
        }
        let all = Set(MessageQueryKey.allCases.map(\.rawValue))
        #expect(try keys("/v1/messages") == all.subtracting(["last", "follow"]))
        #expect(try keys("/v1/messages/stream") == all.subtracting(["limit"]))
        #expect(
            try keys("/v1/vehicle/stream") == Set(VehicleQueryKey.allCases.map(\.rawValue)))
        #expect(try keys("/v1/events") == ["after", "instance", "limit"])
        #expect(try keys("/v1/events/stream") == ["after", "instance", "last", "follow"])
    }

    @Test("every reference leads somewhere") func references() async throws {
        let document = try await document()
        let schemas = try #require(
            (document["components"] as? [String: Any])?["schemas"] as? [String: Any])
        let data = try JSONSerialization.data(
            withJSONObject: document, options: [.withoutEscapingSlashes])
        let text = String(decoding: data, as: UTF8.self)
        let names = text.matches(of: #/"#\/components\/schemas\/([A-Za-z]+)"/#).map { String($0.1) }
        #expect(names.count > 100 && Set(names).isSubset(of: schemas.keys))
    }
}
