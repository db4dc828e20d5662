import RelayCore
package import SDLProtocol

/// Has each RPC compared with the specification, in the version its session agreed on; one for each
/// `TrafficDecoder`, off the event loop.
struct TrafficValidation: Sendable {
    private let validator: RPCValidator
    /// `syncMsgVersion` of the head unit's answer to the registration, by session.
    private var negotiated: [UInt8: SDLVersion] = [:]

    init(_ validator: RPCValidator) {
        self.validator = validator
    }

    /// Names a function that only the user's own specification knows.
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
        // For a registration itself nothing is agreed; one that is refused leaves what was.
        return validator.problems(
            in: message, from: direction == .fromApp ? .app : .accessory,
            negotiated: isRegistration && !isAccepted ? nil : negotiated[session])
    }

    /// The session, or with nil every one, has ended.
    mutating func forget(_ session: UInt8?) {
        if let session {
            negotiated[session] = nil
        } else {
            negotiated = [:]
        }
    }
}

extension TrafficEntry {
    /// What is wrong with an RPC, the first thing first; empty for anything else.
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
    /// The problem to tell where there is room for one: the first error, or else the first
    /// warning. Notes are for those who look closer.
    var worstProblem: ValidationProblem? {
        validation.first(where: \.isError) ?? validation.first { $0.severity == .warning }
    }

    /// How many there are of those.
    var problems: Int { validation.count { $0.severity != .note } }
}
