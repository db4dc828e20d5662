// The structured fields of a line, for systemd's journal: `journalctl SDL_FUNCTION=Show`.

import RelayCore
import SDLProtocol

extension TrafficLine {
    /// The fields besides MESSAGE and PRIORITY, made on demand. Values from peers are stripped of control
    /// characters.
    package var journalFields: [String: String] {
        var fields = [
            "SDL_NUMBER": "\(entry.number)",
            "SDL_KIND": entry.content.kind,
        ]
        fields["SDL_APP"] = entry.appName
        fields["SDL_APP_ID"] = entry.registeredAppID
        fields["SDL_CONNECTION"] = entry.app?.description
        fields["SDL_SESSION"] = entry.sessionID.map { "\($0)" }
        fields["SDL_SERVICE"] = entry.service?.name
        if let direction = entry.direction {
            fields["SDL_FROM"] = direction.sender
            fields["SDL_BYTES"] = "\(entry.bytes)"
        }
        switch entry.content {
        case .rpc(let rpc): add(rpc, to: &fields)
        case .control(let control): fields["SDL_CONTROL"] = control.type.name
        case .dropped(let dropped):
            fields["SDL_REASON"] = dropped.reason.description
            fields["SDL_FUNCTION"] = dropped.rpc?.functionName
        case .undecodable(let undecodable):
            fields["SDL_REASON"] = undecodable.reason.description
        case .stream, .security, .encrypted, .event: break
        }
        return fields
    }

    private func add(_ rpc: RPCEntry, to fields: inout [String: String]) {
        fields["SDL_FUNCTION"] = rpc.message.functionName
        fields["SDL_CORRELATION_ID"] = rpc.message.correlationID.map { "\($0)" }
        if let outcome = rpc.outcome {
            fields["SDL_RESULT"] = PrintableText.string(outcome.resultCode, limit: 100)
            fields["SDL_SUCCESS"] = outcome.success ? "1" : "0"
        }
        fields["SDL_LATENCY_MS"] = rpc.latency.map { "\($0 / 1_000_000)" }
    }
}
