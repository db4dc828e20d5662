// Every function of the specification, sent through the hub using the specification alone.

import NIOCore
import NIOEmbedded
import RelayTesting
import SDLProtocol
import Testing

@testable import RelayCore

@Suite("All functions of the specification are sent and validated from the specification alone")
struct AllFunctionsTests {
    @Test(
        "what the app sends reaches the head unit as it was meant, and its answer who asked",
        arguments: [false, true])
    func toHeadUnit(withEverything all: Bool) throws {
        var sent = 0
        for function in RPCCatalogue.builtIn.functions {
            let hub = try EmbeddedHub()
            let app = try hub.app(session: 1)
            var answers: [DrivenAnswer] = []
            let built = try build(function, from: .app, all: all)
            try hub.drive(built, .fromApp) { answers.append($0) }
            let message = try Self.whole(try hub.heard())
            try check(message, built, from: .app)
            if function.type == .request {
                #expect(answers.isEmpty, "\(function.name)")
                let correlation = try #require(message.correlationID)
                let answer = Frame.rpc(
                    session: 1, .response, function.id, correlation: correlation,
                    json: #"{"success":true,"resultCode":"SUCCESS"}"#)
                try hub.link.says(answer)
                #expect(answers == [.response(Message(single: answer))], "\(function.name)")
            } else {
                #expect(answers == [.passedOn], "\(function.name)")
            }
            #expect(try app.hears() == nil, "\(function.name)")
            sent += 1
        }
        #expect(sent == 152)
    }

    @Test(
        "what is said in the head unit's place reaches the app as it was meant",
        arguments: [false, true])
    func toApp(withEverything all: Bool) throws {
        var said = 0
        for function in RPCCatalogue.builtIn.functions where function.type != .request {
            let hub = try EmbeddedHub()
            let app = try hub.app(session: 1)
            var answers: [DrivenAnswer] = []
            let built = try build(function, from: .accessory, all: all)
            try hub.drive(built, .fromAccessory) { answers.append($0) }
            var frames: [Frame] = []
            while let frame = try app.hears() { frames.append(frame) }
            try check(try Self.whole(frames), built, from: .accessory)
            #expect(answers == [.passedOn], "\(function.name)")
            #expect(try hub.heard() == [], "\(function.name)")
            said += 1
        }
        #expect(said > 80)
    }

    private func build(
        _ function: RPCFunction, from sender: RPCSender, all: Bool
    ) throws -> BuiltRPC {
        let given = try function.exampleAssignments(all: all).map { try RPCAssignment($0) }
        return try RPCBuilder(.builtIn).build(
            .init(function.name, type: function.type, assignments: given), from: sender)
    }

    private static func whole(_ frames: [Frame]) throws -> RPCMessage {
        var assembler = MessageAssembler()
        let outcomes = frames.map { assembler.receive($0, at: 0) }
        guard case .message(let message, nil)? = outcomes.last else {
            throw NotWhole(frames: frames.count)
        }
        return try RPCMessage(message)
    }

    private struct NotWhole: Error { var frames: Int }

    private func check(_ message: RPCMessage, _ built: BuiltRPC, from sender: RPCSender) throws {
        #expect(message.functionID == built.function && message.type == built.type)
        #expect(String(buffer: message.parameters.bytes) == built.json)
        let problems = RPCValidator.builtIn.problems(in: message, from: sender)
        #expect(problems.allSatisfy { $0.rule == .deprecated }, "\(built.name): \(problems)")
    }
}

extension EmbeddedHub {
    fileprivate func drive(
        _ built: BuiltRPC, _ direction: Direction, _ answered: @escaping (DrivenAnswer) -> Void
    ) throws {
        let app = try #require(switchboard.apps.keys.first)
        try switchboard.sdl.drive(
            DrivenRPC(built.function, built.type, built.json, correlationID: 7), direction,
            app: app, session: nil, patience: .seconds(10), answered: answered)
    }
}
