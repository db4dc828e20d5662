package import SDLProtocol

extension RPCCatalogue {
    package func function(_ id: FunctionID, _ type: RPCType) -> RPCFunction? {
        functions.first { $0.id == id && $0.type == type }
    }

    package func structure(_ name: String) -> RPCStruct? {
        structs.first { $0.name == name }
    }

    package func enumeration(_ name: String) -> RPCEnum? {
        enums.first { $0.name == name }
    }
}
