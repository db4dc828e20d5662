// Compares an RPC with the specification; asked by the decoder for every message, off the event
// loop. It only observes: whatever it finds, the message was forwarded.

import DidYouMean

public enum RPCSender: Hashable, Sendable {
    case app
    case accessory
}

/// Finds what is wrong with RPCs. A message without problems costs no allocation.
///
/// Made to raise no false alarms:
/// - a response that failed need only say so: real head units leave everything else out;
/// - head units carry values for older apps along: what is deprecated or newer than the session
///   is no news in their messages, and mistakes in it do no harm;
/// - a parameter is judged by its definition in the version that was negotiated;
/// - vehicle data has parameters of the car's maker, which no specification knows.
public struct RPCValidator: Sendable {
    /// Problems reported of one message; for worse messages that is enough.
    public static let maximumProblems = 16

    public let catalogue: RPCCatalogue
    let index: CatalogueIndex

    public static let builtIn = RPCValidator(.builtIn)

    public init(_ catalogue: RPCCatalogue) {
        self.catalogue = catalogue
        index = CatalogueIndex(catalogue)
    }

    /// What is wrong with `message`, in the order it stands there, missing parameters last.
    ///
    /// - Parameter negotiated: `syncMsgVersion` of the head unit's answer to the registration; nil
    ///   before, when the newest definitions count.
    public func problems(
        in message: RPCMessage, from sender: RPCSender, negotiated: SDLVersion? = nil
    ) -> [ValidationProblem] {
        guard let function = index.function(message.functionID, message.type) else {
            return [unknownFunction(message, sender)]
        }
        // The parameters were too long to be kept.
        guard !message.isTruncated else { return [] }
        var walk = ValidationWalk(
            validator: self, message: message, sender: sender, version: negotiated)
        walk.check(function: function)
        return walk.problems
    }

    private func unknownFunction(
        _ message: RPCMessage, _ sender: RPCSender
    ) -> ValidationProblem {
        let name = message.unknownName ?? message.functionID.name
        let others = catalogue.functions.filter { $0.type == message.type }.map(\.name)
        return ValidationProblem(
            rule: .unknownFunction, severity: sender == .app ? .error : .warning,
            path: "", subject: name ?? message.functionID.description,
            found: "no \(message.type.name) of RPC specification \(catalogue.version)",
            expected: "a \(message.type.name) of RPC specification \(catalogue.version)",
            hint: name.flatMap { Spelling.nearest($0, in: others) })
    }
}
