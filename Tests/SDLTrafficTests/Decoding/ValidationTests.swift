// The validation of real peers' messages, and how it shows in entries and lines.

import Foundation
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct ValidationTests {
    /// A line of validation.txt.
    struct Known: Hashable, CustomStringConvertible {
        var capture: String
        var number: UInt64
        var severity: String
        var rule: String
        var path: String

        var description: String { "\(capture) | \(number) | \(severity) | \(rule) | \(path)" }
    }

    @Test(
        "recorded sessions break no rule but those listed and explained",
        arguments: ["js-full-1", "js-killed-1", "js-core-stops-1"])
    func captures(name: String) throws {
        let text = try String(
            contentsOf: Capture.folder.appending(path: "validation.txt"), encoding: .utf8)
        let known = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            line.split(separator: "|").prefix(5).map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let expected = Set(known.filter { $0[0] == name }.map { $0.joined(separator: " | ") })
        var found: Set<String> = []
        for entry in try Capture.entries(name) {
            for problem in entry.validation {
                let known = Known(
                    capture: name, number: entry.number, severity: problem.severity.name,
                    rule: problem.rule.rawValue, path: problem.path)
                found.insert(known.description)
                #expect(expected.contains(known.description), "\(problem)")
            }
        }
        #expect(found == expected)
    }

    @Test("no recorded session has an error or a warning, and notes do not raise priority")
    func noErrors() throws {
        for name in ["js-full-1", "js-killed-1", "js-core-stops-1"] {
            for entry in try Capture.entries(name) {
                let worst = entry.validation.map(\.severity).max() ?? .note
                #expect(worst == .note, "\(entry.validation)")
                guard case .rpc(let rpc) = entry.content, !rpc.validation.isEmpty else { continue }
                #expect(entry.priority == .info)
            }
        }
    }

    // MARK: Entries

    @Test("an error raises the priority, is marked in the text and told in full in JSON")
    func errors() throws {
        var talk = Dialogue(validator: .builtIn)
        talk.opens()
        talk.request(.show, 4, #"{"mainFeld1":"Hello","zoo":1}"#)
        #expect(talk.entries.last?.priority == .warning)
        #expect(
            talk.entries.last?.validation.map(\.rule) == [.unknownParameter, .unknownParameter])
        let line = try #require(talk.lastLine)
        #expect(line.hasSuffix("  ⚠ unknown parameter mainFeld1, did you mean mainField1? +1 more"))
        #expect(!line.contains("zoo"))
        let json = try #require(talk.lines(TrafficLog.Configuration(format: .json)).last)
        #expect(
            json.contains(
                #","problems":[{"rule":"unknown_parameter","severity":"error","path":"mainFeld1","#
                    + #""message":"unknown parameter mainFeld1, did you mean mainField1?","#
                    + #""did_you_mean":"mainField1"},{"rule":"unknown_parameter","#
                    + #""severity":"warning","path":"zoo","message":"unknown parameter zoo"}],"#))
        _ = try JSONSerialization.jsonObject(with: Data(json.utf8))
    }

    @Test("a note is only for those who look closer")
    func notes() throws {
        var talk = Dialogue(validator: .builtIn)
        talk.opens()
        talk.request(.show, 4, #"{"mediaClock":"12:00"}"#)
        #expect(talk.entries.last?.validation.map(\.rule) == [.deprecated])
        #expect(talk.entries.last?.priority == .info)
        #expect(talk.lastLine?.contains("⚠") == false)
        let json = try #require(talk.lines(TrafficLog.Configuration(format: .json)).last)
        #expect(json.contains(#""severity":"note""#))
    }

    @Test("a message is judged by the version its session agreed on")
    func negotiatedVersion() {
        var talk = Dialogue(validator: .builtIn)
        talk.opens()
        // This registration agrees on 7.1; templateTitle is of 6.0.
        talk.registers()
        talk.request(.show, 4, #"{"templateTitle":"Home"}"#)
        #expect(talk.entries.last?.validation.isEmpty == true)
        talk.response(
            .registerAppInterface, 1,
            #"{"success":true,"resultCode":"SUCCESS","syncMsgVersion":{"majorVersion":4,"#
                + #""minorVersion":5}}"#)
        talk.request(.show, 5, #"{"templateTitle":"Home"}"#)
        #expect(talk.entries.last?.validation.map(\.rule) == [.newerThanNegotiated])
        // Another session has agreed on nothing yet.
        talk.session = 2
        talk.control(.fromAccessory, .startServiceACK)
        talk.request(.show, 1, #"{"templateTitle":"Home"}"#)
        #expect(talk.entries.last?.validation.isEmpty == true)
        // The first session has not agreed on anything either, after it was granted anew.
        talk.session = 1
        talk.control(.fromAccessory, .startServiceACK)
        talk.request(.show, 6, #"{"templateTitle":"Home"}"#)
        #expect(talk.entries.last?.validation.isEmpty == true)
    }

    @Test("a refused registration agrees on no version")
    func refusedRegistration() {
        var talk = Dialogue(validator: .builtIn)
        talk.opens()
        talk.response(
            .registerAppInterface, 1,
            #"{"success":false,"resultCode":"REJECTED","syncMsgVersion":{"majorVersion":4,"#
                + #""minorVersion":5}}"#)
        talk.request(.show, 5, #"{"templateTitle":"Home"}"#)
        #expect(talk.entries.last?.validation.isEmpty == true)
    }

    @Test("parameters that are no object are a problem of what cannot be decoded")
    func undecodable() throws {
        var talk = Dialogue(validator: .builtIn)
        talk.opens()
        talk.request(.show, 4, "[]")
        #expect(talk.entries.last?.validation.map(\.rule) == [.notAnObject])
        let json = try #require(talk.lines(TrafficLog.Configuration(format: .json)).last)
        #expect(json.contains(#""problems":[{"rule":"not_an_object""#))
    }

    @Test("without a validator nothing is judged")
    func switchedOff() {
        var talk = Dialogue(validator: nil)
        talk.opens()
        talk.request(.show, 4, #"{"mainFeld1":"Hello"}"#)
        #expect(talk.entries.last?.validation.isEmpty == true)
        #expect(talk.entries.last?.priority == .info)
    }

    @Test("functions of a user's own specification are called by their names")
    func ownFunctions() throws {
        let xml = """
            <interface version="1.0"><enum name="FunctionID"><element name="A" value="70000"/></enum>
            <function name="Ping" functionID="A" messagetype="request"/></interface>
            """
        let catalogue = try RPCCatalogue(xml: Array(xml.utf8))
        var talk = Dialogue(validator: RPCValidator(catalogue))
        talk.opens()
        talk.request(FunctionID(rawValue: 70000), 4)
        #expect(talk.lastLine?.contains("request   Ping #4") == true)
        talk.says(
            .fromApp,
            .rpcV1(sessionID: 1, type: .request, name: "Ping", correlationID: 5))
        #expect(talk.rpc?.message.functionID == FunctionID(rawValue: 70000))
        #expect(talk.rpc?.validation.isEmpty == true)
    }
}
