package import SDLProtocol

extension RPCFunction {
    /// Values for the mandatory parameters, or for all of them, as a user would write them for
    /// `relayctl send`: made from the specification alone.
    package func exampleAssignments(all: Bool) -> [String] {
        parameters.filter { $0.lifetime.until == nil && (all || $0.isMandatory) }
            .flatMap { Self.assignments($0, at: $0.name, depth: 0, all: all) }
            .map { $0 == "success=true" && !maySucceed ? "success=false" : $0 }
    }

    /// Assignments for a parameter, made from its definition alone.
    private static func assignments(
        _ parameter: RPCParameter, at path: String, depth: Int, all: Bool
    ) -> [String] {
        if let size = parameter.arraySize {
            let count = max(size.minimum ?? 0, all ? 1 : 0)
            guard count > 0 else { return ["\(path)=[]"] }
            return (0..<count).flatMap {
                single(parameter, at: "\(path)[\($0)]", depth: depth, all: all)
            }
        }
        return single(parameter, at: path, depth: depth, all: all)
    }

    private static func single(
        _ parameter: RPCParameter, at path: String, depth: Int, all: Bool
    ) -> [String] {
        switch parameter.kind {
        case .boolean: return ["\(path)=true"]
        case .integer: return ["\(path)=\(Int(number(parameter.value)))"]
        case .float: return ["\(path)=\(number(parameter.value))"]
        case .string:
            let length = max(parameter.length.minimum ?? 0, all ? 1 : 0)
            return ["\(path)=" + String(repeating: "x", count: length)]
        case .enumeration(let name):
            let elements = RPCCatalogue.builtIn.enumeration(name)?.elements ?? []
            let used = elements.filter {
                (parameter.values.isEmpty || parameter.values.contains($0.name))
                    && $0.lifetime.until == nil
            }
            return ["\(path)=\(used.first?.name ?? "")"]
        case .structure(let name):
            let members = RPCCatalogue.builtIn.structure(name)?.parameters ?? []
            let wanted = members.filter {
                $0.lifetime.until == nil && ($0.isMandatory || all && depth < 2)
            }
            guard !wanted.isEmpty else { return ["\(path)={}"] }
            return wanted.flatMap {
                assignments($0, at: "\(path).\($0.name)", depth: depth + 1, all: all)
            }
        }
    }

    private static func number(_ bounds: RPCBounds<Double>) -> Double {
        min(max(0, bounds.minimum ?? 0), bounds.maximum ?? .infinity)
    }

    /// Whether `success` may be true: it must agree with a response's result code.
    private var maySucceed: Bool {
        let codes = parameters.first { $0.name == "resultCode" }?.values ?? []
        return codes.isEmpty || codes.contains("SUCCESS")
    }
}
