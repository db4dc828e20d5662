// Fuzz target: RPC specifications that users name.

import NIOCore
import SDLProtocol

extension FuzzTarget {
    static let specification = FuzzTarget(
        name: "specification", about: "an RPC specification in XML, and RPCs held against it",
        promise: "a specification is read, or refused with a line that it has",
        maximumBytes: 16384, words: { words }, seeds: FuzzSeeds.specification,
        run: { bytes in
            let lines = 1 + bytes.count { $0 == 0x0A }
            do throws(RPCSpecificationError) {
                let catalogue = try RPCCatalogue(xml: Array(bytes))
                let validator = RPCValidator(catalogue)
                for function in catalogue.functions.prefix(4) { judge(function, validator) }
            } catch {
                guard (0...lines).contains(error.line) else {
                    throw BrokenPromise("line \(error.line) of \(lines): \(error.reason)")
                }
            }
        })

    private static func judge(_ function: RPCFunction, _ validator: RPCValidator) {
        let members = function.parameters.prefix(8).map { "\"\($0.name)\":\(value(of: $0))" }
        let frame = Frame.rpc(
            version: 5, sessionID: 1, messageID: 1, type: function.type,
            functionID: function.id.rawValue, correlationID: 1,
            json: "{\(members.joined(separator: ","))}")
        guard let message = try? RPCMessage(Message(single: frame)) else { return }
        _ = validator.problems(
            in: message, from: .app, negotiated: SDLVersion(7, 1, 0))
    }

    private static func value(of parameter: RPCParameter) -> String {
        switch parameter.name.utf8.count % 5 {
        case 0: "\"\(String(repeating: "x", count: 9))\""
        case 1: "9223372036854775807"
        case 2: "[1,2,{}]"
        case 3: "{\"a\":1e3}"
        default: "-1.5"
        }
    }

    private static let words = [
        "<interface name=\"x\" version=\"7.1.0\" date=\"2020-10-07\">", "</interface>",
        "<enum name=\"E\">", "<element name=\"A\" value=\"1\"/>", "</enum>", "<struct name=\"S\">",
        "<param name=\"p\" type=\"Integer\" minvalue=\"0\" maxvalue=\"9\" mandatory=\"true\"/>",
        "</struct>", "<function name=\"F\" functionID=\"FID\" messagetype=\"request\">",
        "</function>", "internal_name=\"", "internal_value=\"", "since=\"6.0\"", "until=\"7.0\"",
        "removed=\"7.0\"", "deprecated=\"true\"", "<history>", "</history>", "array=\"true\"",
        "minsize=\"1\"", "maxsize=\"100\"", "maxlength=\"500\"", "minlength=\"", "defvalue=\"",
        "type=\"Float\"", "type=\"String\"", "type=\"Boolean\"", "&amp;", "&#x41;", "&lt;",
        "<!--", "-->", "<![CDATA[", "]]>", "<?xml version=\"1.0\"?>", "<!DOCTYPE", "<description>",
        "</description>", "9223372036854775807", "1e999", "platform=\"documentation\"",
    ]
}
