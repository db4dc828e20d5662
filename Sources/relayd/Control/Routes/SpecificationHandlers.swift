import ControlAPI
import NIOCore
import NIOHTTP1
import SDLProtocol
import Synchronization

/// Answers with the RPC specification that `DriveHandlers` compares with, for forms and programs.
package struct SpecificationHandlers: Sendable {
    /// Built at the first request: it has some hundred kilobytes, and stays the same while relayd runs.
    private final class Answer: Sendable {
        struct Made: Sendable {
            let content: ByteBuffer
            let tag: String
        }

        private let made = Mutex<Made?>(nil)

        func get(_ make: () throws -> Made) rethrows -> Made {
            try made.withLock { made in
                if let made { return made }
                let new = try make()
                made = new
                return new
            }
        }
    }

    private let catalogue: RPCCatalogue
    private let file: String?
    private let answer = Answer()

    init(_ specification: SpecificationFile.InForce) {
        // Also if the RPCs of others are not validated.
        catalogue = specification.validator?.catalogue ?? .builtIn
        file = specification.report?.file
    }

    func addRoutes(to routes: inout RouteHandlers) {
        routes.get(Routes.specification) { request, _ in try respond(to: request) }
    }

    private func respond(to request: ControlRequest) throws -> ControlResponse {
        let made = try answer.get {
            let document = SpecificationDocument(catalogue, file: file)
            let content = ByteBuffer(bytes: try APICoding.encodeLine(document) + [0x0A])
            let sum = String(CRC32.checksum(of: content), radix: 16)
            return Answer.Made(
                content: content, tag: "\"\(catalogue.version)-\(content.readableBytes)-\(sum)\"")
        }
        // Browsers keep it and revalidate it each time: another relayd may have another one.
        let headers: HTTPHeaders = [
            "Content-Type": "application/json; charset=utf-8",
            "Cache-Control": "private, no-cache", "ETag": made.tag,
        ]
        let response = ControlResponse(.ok, headers, body: .whole(made.content))
        guard request.header("If-None-Match") == made.tag else { return response }
        var unchanged = response.withoutBody
        unchanged.status = .notModified
        return unchanged
    }
}

// MARK: - The catalogue as JSON

extension SpecificationDocument {
    init(_ catalogue: RPCCatalogue, file: String?) {
        self.init(
            version: "\(catalogue.version)",
            date: catalogue.date.isEmpty ? nil : catalogue.date, file: file,
            functions: catalogue.functions.map(SpecificationFunction.init),
            structs: catalogue.structs.map(SpecificationStruct.init),
            enums: catalogue.enums.map(SpecificationEnum.init))
    }
}

extension SpecificationFunction {
    init(_ function: RPCFunction) {
        let life = function.lifetime
        self.init(
            name: function.name, id: Int(function.id.rawValue), type: function.type.name,
            since: life.since?.short, until: life.until?.short,
            deprecated: life.isDeprecated ? true : nil,
            parameters: function.parameters.map(SpecificationParameter.init))
    }
}

extension SpecificationStruct {
    init(_ structure: RPCStruct) {
        let life = structure.lifetime
        self.init(
            name: structure.name, since: life.since?.short, until: life.until?.short,
            deprecated: life.isDeprecated ? true : nil,
            parameters: structure.parameters.map(SpecificationParameter.init))
    }
}

extension SpecificationEnum {
    init(_ enumeration: RPCEnum) {
        let life = enumeration.lifetime
        self.init(
            name: enumeration.name, since: life.since?.short, until: life.until?.short,
            deprecated: life.isDeprecated ? true : nil,
            elements: enumeration.elements.map { element in
                SpecificationElement(
                    name: element.name, since: element.lifetime.since?.short,
                    until: element.lifetime.until?.short,
                    deprecated: element.lifetime.isDeprecated ? true : nil)
            })
    }
}

extension SpecificationParameter {
    init(_ parameter: RPCParameter) {
        let life = parameter.lifetime
        let isText = parameter.kind == .string
        self.init(
            name: parameter.name, type: parameter.kind.specificationName,
            mandatory: parameter.isMandatory, array: parameter.arraySize != nil,
            minSize: parameter.arraySize?.minimum, maxSize: parameter.arraySize?.maximum,
            minValue: parameter.value.minimum, maxValue: parameter.value.maximum,
            minLength: isText ? parameter.length.minimum : nil,
            maxLength: isText ? parameter.length.maximum : nil,
            values: parameter.values.isEmpty ? nil : parameter.values,
            since: life.since?.short, until: life.until?.short,
            deprecated: life.isDeprecated ? true : nil)
    }
}

extension RPCParameter.Kind {
    fileprivate var specificationName: String {
        switch self {
        case .boolean: "Boolean"
        case .integer: "Integer"
        case .float: "Float"
        case .string: "String"
        case .enumeration(let name), .structure(let name): name
        }
    }
}
