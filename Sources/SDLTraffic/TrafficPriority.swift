import RelayCore
import SDLProtocol

/// The urgency of an entry, in the syslog levels that traffic needs; used by filters, journald and colours.
package enum TrafficPriority: Int, Hashable, Sendable, Comparable, CaseIterable {
    /// Heartbeats, and what is left of a goodbye.
    case debug
    case info
    /// Something a developer should look at: refused, undecodable, dropped, lost.
    case warning
    case error

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension TrafficEntry {
    package var priority: TrafficPriority {
        switch content {
        case .rpc(let rpc): rpc.priority
        case .control(let control): control.priority
        case .stream, .encrypted: .info
        case .security(let query): query.queryID == .sendInternalError ? .warning : .info
        case .undecodable: .warning
        case .dropped(let dropped): dropped.reason.priority
        case .event(let event): event.priority
        }
    }
}

extension RPCEntry {
    fileprivate var priority: TrafficPriority {
        let isBroken =
            problem != nil || replaced != nil || isUnasked || validation.contains(where: \.isError)
        if let outcome { return outcome.success && !isBroken ? .info : .warning }
        let isBadNews =
            isBroken || message.functionID == .onAppInterfaceUnregistered
        return isBadNews ? .warning : .info
    }
}

extension ControlEntry {
    fileprivate var priority: TrafficPriority {
        if case .unreadable = payload { return .warning }
        return switch type {
        case .heartbeat, .heartbeatACK, .serviceDataACK: .debug
        case .startServiceNAK, .endServiceNAK, .registerSecondaryTransportNAK: .warning
        default: .info
        }
    }
}

extension DropReason {
    fileprivate var priority: TrafficPriority {
        switch self {
        case .farewell, .lateWords, .answersRelay: .debug
        case .secondaryTransport, .lateAnswer, .sessionOver, .askerGone, .serviceOfRelay, .fault:
            .info
        case .notItsSession, .noSuchSession, .noLink, .queueFull, .endNotAsked, .emptyMessage,
            .messageTooLarge, .frameTooLarge, .leftTooFast:
            .warning
        }
    }
}

extension EventEntry {
    fileprivate var priority: TrafficPriority {
        switch self {
        case .session: .debug
        case .appConnected, .appClosed, .linkOpened: .info
        case .linkClosed, .missed, .unanswered, .unansweredStart, .noticed: .warning
        }
    }
}
