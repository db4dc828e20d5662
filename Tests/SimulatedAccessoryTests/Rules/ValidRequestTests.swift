import NIOCore
import SDLProtocol
import Testing

@testable import SimulatedAccessory

/// Requests that the RPC specification allows may not be refused as violations of it.
@Suite struct ValidRequestTests {
    /// Which of the allowed values to use.
    enum Extent: String, CaseIterable {
        /// Mandatory parameters only, the smallest values.
        case least
        /// All parameters, the smallest values.
        case small
        /// All parameters, the largest values.
        case large
    }

    @Test("every request with allowed values passes, without a warning", arguments: Extent.allCases)
    func passes(extent: Extent) throws {
        let version = SDLVersion(8)
        let functions = RPCCatalogue.builtIn.functions.filter {
            $0.type == .request && $0.id.isRequest
        }
        #expect(functions.count > 50)
        for function in functions {
            let json = Self.object(function.parameters, extent, depth: 0)
            let text = try JSONObject(ByteBuffer(string: json))
            var request = Request(sessionID: 1, functionID: function.id, correlationID: 1)
            request.text = text
            request.parameters = JSON(text)
            #expect(throws: Never.self, "\(function.name) \(json.prefix(500))") {
                try Specification.judge(&request, negotiated: version)
            }
            #expect(request.warnings == [], "\(function.name)")
        }
    }

    private static func object(
        _ parameters: [RPCParameter], _ extent: Extent, depth: Int
    ) -> String {
        // The depth is limited, because structures may contain their own kind.
        let wanted = parameters.filter { $0.isMandatory || extent != .least && depth < 4 }
        let members = wanted.map { parameter in
            "\"\(parameter.name)\":\(value(parameter, extent, depth: depth))"
        }
        return "{\(members.joined(separator: ","))}"
    }

    private static func value(_ parameter: RPCParameter, _ extent: Extent, depth: Int) -> String {
        let one = element(parameter, extent, depth: depth)
        guard let size = parameter.arraySize else { return one }
        // More elements show nothing new, but produce megabytes of text.
        let count = extent == .large ? min(size.maximum ?? 3, 3) : size.minimum ?? 0
        let elements = Array(repeating: one, count: max(count, size.minimum ?? 0))
        return "[\(elements.joined(separator: ","))]"
    }

    private static func element(
        _ parameter: RPCParameter, _ extent: Extent, depth: Int
    ) -> String {
        let isLarge = extent == .large
        switch parameter.kind {
        case .boolean: return "\(isLarge)"
        case .integer:
            let bound = isLarge ? parameter.value.maximum : parameter.value.minimum
            return "\(Int64(bound ?? 1))"
        case .float:
            return "\((isLarge ? parameter.value.maximum : parameter.value.minimum) ?? 1.5)"
        case .string:
            let length = (isLarge ? parameter.length.maximum : parameter.length.minimum) ?? 1
            return "\"\(String(repeating: "ж", count: min(length, 100_000)))\""
        case .enumeration(let name):
            let all = RPCCatalogue.builtIn.enumeration(name)?.elements.map(\.name) ?? []
            // Some functions allow only some of the words.
            let words = parameter.values.isEmpty ? all : parameter.values
            return "\"\((isLarge ? words.last : words.first) ?? "")\""
        case .structure(let name):
            let members = RPCCatalogue.builtIn.structure(name)?.parameters ?? []
            return object(members, extent, depth: depth + 1)
        }
    }
}
