import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

// Valid messages of every function in the specification raise no alarm; broken ones cause no trap.

@Suite struct RPCValidatorFuzzTests {
    private func message(
        _ function: RPCFunction, _ json: String
    ) throws -> RPCMessage {
        let frame = Frame.rpc(
            version: 5, sessionID: 1, messageID: 1, type: function.type,
            functionID: function.id.rawValue, correlationID: 1, json: json)
        return try RPCMessage(Message(single: frame))
    }

    @Test("whatever the specification allows is right", arguments: 0..<5 as Range<UInt64>)
    func rightMessages(seed: UInt64) async throws {
        try await onOwnThread {
            var generator = RPCGenerator(catalogue: .builtIn, random: SeededGenerator(seed: seed))
            for function in RPCCatalogue.builtIn.functions {
                let json = generator.object(function.parameters, all: seed == 0)
                let message = try message(function, json)
                for sender in [RPCSender.app, .accessory] {
                    let problems = RPCValidator.builtIn.problems(
                        in: message, from: sender,
                        negotiated: SDLVersion(8, 0, 0))
                    // Random result codes contradict random values of success.
                    let bad = problems.filter {
                        $0.rule != .deprecated && $0.rule != .contradiction
                    }
                    #expect(bad.isEmpty, "\(function.name) \(json)")
                }
            }
        }
    }

    @Test("a mandatory parameter that is taken away is missed, and nothing else")
    func missingParameters() throws {
        var generator = RPCGenerator(catalogue: .builtIn, random: SeededGenerator(seed: 99))
        for function in RPCCatalogue.builtIn.functions where function.type != .response {
            for parameter in function.parameters where parameter.isMandatory {
                let others = function.parameters.filter { $0.name != parameter.name }
                let message = try message(function, generator.object(others))
                let problems = RPCValidator.builtIn.problems(in: message, from: .accessory)
                let missing = problems.filter { $0.rule == .missingMandatory }
                #expect(missing.map(\.path) == [parameter.name], "\(function.name)")
            }
        }
    }

    @Test("broken parameters never trap or hang", arguments: 0..<10 as Range<UInt64>)
    func brokenMessages(seed: UInt64) async {
        var generator = RPCGenerator(
            catalogue: .builtIn, random: SeededGenerator(seed: 1000 + seed))
        let versions = [
            nil, SDLVersion(1, 0, 0), SDLVersion(4, 5, 0),
            SDLVersion(9999, -1, 0),
        ]
        for function in RPCCatalogue.builtIn.functions {
            await Task.yield()
            for version in versions {
                guard let message = try? message(function, generator.broken(function.parameters))
                else { continue }
                for sender in [RPCSender.app, .accessory] {
                    let problems = RPCValidator.builtIn.problems(
                        in: message, from: sender, negotiated: version)
                    #expect(problems.count <= RPCValidator.maximumProblems)
                    for problem in problems {
                        #expect(
                            problem.description.unicodeScalars.allSatisfy(PrintableText.isPrintable)
                        )
                    }
                }
            }
        }
    }
}
