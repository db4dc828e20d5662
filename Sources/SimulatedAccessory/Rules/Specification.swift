// What the RPC specification says about a request, judged as in sdl_core: before checking whether the app is
// registered, and without involving the HMI.

import SDLProtocol

enum Specification {
    /// Refuses requests that break the specification; removes enumeration values that it does not know.
    ///
    /// - Parameter negotiated: The RPC version of the session; nil before the registration.
    static func judge(_ request: inout Request, negotiated: SDLVersion?) throws(Refusal) {
        let message = RPCMessage(request: request.functionID, parameters: request.text)
        let problems = RPCValidator.builtIn.problems(
            in: message, from: .app, negotiated: negotiated)
        if let problem = problems.first(where: \.rule.isRefused) {
            throw Refusal(.invalidData, problem.description)
        }
        let unknown = problems.filter { $0.rule == .unknownValue }
        guard let first = unknown.first else { return }
        let catalogue = RPCValidator.builtIn.catalogue
        let parameters = catalogue.function(request.functionID, .request)?.parameters ?? []
        guard let kept = request.parameters?.droppingUnknownWords(parameters, catalogue) else {
            throw Refusal(.invalidData, first.description)
        }
        request.parameters = kept
        request.warnings += unknown.map { "\($0.description); ignored" }
    }
}

extension JSON {
    /// This object without unknown enumeration values, as sdl_core 8.2.0 drops them: a value is removed together
    /// with whatever needs it. Nil when nothing is left to work with.
    fileprivate func droppingUnknownWords(
        _ parameters: [RPCParameter], _ catalogue: RPCCatalogue
    ) -> JSON? {
        guard case .object(let members) = self else { return self }
        var kept: [Member] = []
        for member in members {
            guard let parameter = parameters.last(where: { $0.name == member.key }) else {
                kept.append(member)
                continue
            }
            if let value = member.value.droppingUnknownWords(parameter, catalogue) {
                kept.append(Member(key: member.key, value: value))
            } else if parameter.isMandatory {
                return nil
            }
        }
        return .object(kept)
    }

    private func droppingUnknownWords(
        _ parameter: RPCParameter, _ catalogue: RPCCatalogue
    ) -> JSON? {
        guard parameter.arraySize != nil, case .array(let elements) = self else {
            return droppingUnknownWord(parameter.kind, catalogue)
        }
        let kept = elements.compactMap { $0.droppingUnknownWord(parameter.kind, catalogue) }
        return kept.isEmpty && !elements.isEmpty ? nil : .array(kept)
    }

    private func droppingUnknownWord(_ kind: RPCParameter.Kind, _ catalogue: RPCCatalogue) -> JSON?
    {
        switch (kind, self) {
        case (.enumeration(let name), .string(let word)):
            guard let enumeration = catalogue.enumeration(name) else { return self }
            return enumeration.elements.contains { $0.name == word } ? self : nil
        case (.structure(let name), .object):
            guard let structure = catalogue.structure(name) else { return self }
            return droppingUnknownWords(structure.parameters, catalogue)
        default: return self
        }
    }
}
