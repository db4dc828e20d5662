import ControlAPI
import RelayTesting
import SDLProtocol
import Testing

@testable import relayd

@Suite("GET /v1/specification")
struct SpecificationRouteTests {
    private static func document(_ server: ControlTestServer) async throws -> SpecificationDocument
    {
        let (status, body) = try await server.send("GET", Routes.specification)
        #expect(status == 200)
        return try APICoding.decode(SpecificationDocument.self, from: Array(body.utf8))
    }

    @Test("it has every function, struct and enumeration with which send compares")
    func all() async throws {
        let catalogue = RPCCatalogue.builtIn
        try await ControlTestServer.with { server in
            let document = try await Self.document(server)
            #expect(document.version == "\(catalogue.version)" && document.file == nil)
            #expect(document.functions.map(\.name) == catalogue.functions.map(\.name))
            #expect(document.functions.map(\.type) == catalogue.functions.map(\.type.name))
            #expect(document.functions.map(\.id) == catalogue.functions.map { Int($0.id.rawValue) })
            #expect(document.structs.map(\.name) == catalogue.structs.map(\.name))
            #expect(document.enums.map(\.name) == catalogue.enums.map(\.name))
            let told = document.functions.map(\.parameters) + document.structs.map(\.parameters)
            let known =
                catalogue.functions.map(\.parameters) + catalogue.structs.map(\.parameters)
            for (told, known) in zip(told.joined(), known.joined()) {
                #expect(told.name == known.name && told.mandatory == known.isMandatory)
                #expect(told.array == (known.arraySize != nil))
                #expect(told.maxSize == known.arraySize?.maximum)
                #expect(told.minValue == known.value.minimum)
                #expect(told.maxValue == known.value.maximum)
                #expect(told.deprecated ?? false == known.lifetime.isDeprecated)
                #expect(told.since == known.lifetime.since?.short)
                #expect(told.values ?? [] == known.values)
            }
            #expect(told.joined().count == known.joined().count)
            for (told, known) in zip(document.enums, catalogue.enums) {
                #expect(told.elements.map(\.name) == known.elements.map(\.name))
            }
        }
    }

    @Test("a parameter says its type, its bounds and what it is made of")
    func parameter() async throws {
        try await ControlTestServer.with { server in
            let document = try await Self.document(server)
            let show = try #require(
                document.functions.first { $0.name == "Show" && $0.type == "request" })
            let line = try #require(show.parameters.first { $0.name == "mainField1" })
            #expect(line.type == "String" && !line.mandatory && !line.array)
            #expect(line.minLength == 0 && line.maxLength == 500)
            let buttons = try #require(show.parameters.first { $0.name == "softButtons" })
            #expect(buttons.type == "SoftButton" && buttons.array && buttons.maxSize == 8)
            let button = try #require(document.structs.first { $0.name == "SoftButton" })
            let type = try #require(button.parameters.first { $0.name == "type" })
            #expect(type.mandatory && type.type == "SoftButtonType")
            #expect(document.enums.contains { $0.name == "SoftButtonType" })
            let alert = try #require(
                document.functions.first { $0.name == "Alert" && $0.type == "request" })
            let duration = try #require(alert.parameters.first { $0.name == "duration" })
            #expect(duration.minValue == 3000 && duration.maxValue == 10_000)
        }
    }

    @Test("who has it already is not sent it again") func unchanged() async throws {
        try await ControlTestServer.with { server in
            func ask(_ field: String) async throws -> String {
                let descriptor = try await server.connected()
                server.send(
                    "GET \(Routes.specification) HTTP/1.1\r\nHost: relayd\r\n\(field)"
                        + "Connection: close\r\n\r\n", to: descriptor)
                return try #require(try await server.rest(of: descriptor))
            }
            let first = try await ask("")
            let line = try #require(
                first.split(separator: "\r\n").first { $0.lowercased().hasPrefix("etag: ") })
            let tag = String(line.dropFirst(6))
            #expect(first.contains("Cache-Control: private, no-cache"))
            let again = try await ask("If-None-Match: \(tag)\r\n")
            #expect(again.hasPrefix("HTTP/1.1 304 ") && again.hasSuffix("\r\n\r\n"))
            let other = try await ask("If-None-Match: \"other\"\r\n")
            #expect(other.hasPrefix("HTTP/1.1 200 "))
        }
    }
}
