import RelayCore
package import SDLProtocol

/// Checks each RPC against the specification, in the version that its session agreed on; one for each
/// `TrafficDecoder`, off the event loop.
struct TrafficValidation: Sendable {
    private let validator: RPCValidator
    /// `syncMsgVersion` of the head unit's answer to the registration, by session.
    private var negotiated: [UInt8: SDLVersion] = [:]

    init(_ validator: RPCValidator) {
        self.validator = validator
    }

    /// Fills in the name of a function that only the user's own specification has.
    func name(_ message: inout RPCMessage) {
        guard message.functionID.name == nil || message.unknownName != nil else { return }
        if let name = message.unknownName {
            message.functionID = validator.catalogue.id(of: name) ?? message.functionID
        } else {
            message.unknownName = validator.catalogue.name(of: message.functionID)
        }
    }

    mutating func problems(
        in message: RPCMessage, from direction: Direction, session: UInt8
    ) -> [ValidationProblem] {
        let isRegistration = message.functionID == .registerAppInterface
        let isAccepted =
            isRegistration && message.type == .response && RPCOutcome(message)?.success == true
        if isAccepted {
            negotiated[session] = SDLVersion(message.parameters.object("syncMsgVersion"))
        }
        // No version is agreed for a registration itself; one that is refused leaves the agreed version.
        return validator.problems(
            in: message, from: direction == .fromApp ? .app : .accessory,
            negotiated: isRegistration && !isAccepted ? nil : negotiated[session])
    }

    /// Forgets a session that has ended, or all if nil.
    mutating func forget(_ session: UInt8?) {
        if let session {
            negotiated[session] = nil
        } else {
            negotiated = [:]
        }
    }
}

extension TrafficEntry {
    /// The problems of an RPC, the first one first; empty for anything else.
    package var validation: [ValidationProblem] {
        switch content {
        case .rpc(let rpc): rpc.validation
        case .undecodable(let undecodable):
            if case .rpc(let error) = undecodable.reason {
                ValidationProblem(error).map { [$0] } ?? []
            } else {
                []
            }
        case .control, .stream, .security, .encrypted, .dropped, .event: []
        }
    }
}

extension RPCEntry {
    /// The problem to show where there is room for one: the first error, or else the first warning. Notes are
    /// for closer inspection.
    var worstProblem: ValidationProblem? {
        validation.first(where: \.isError) ?? validation.first { $0.severity == .warning }
    }

    /// The number of errors and warnings.
    var problems: Int { validation.count { $0.severity != .note } }
}
