import OpenXCProtocol

/// How firmware reports a module's answer to its host.
struct DiagnosticAnswer: Sendable {
    let request: DiagnosticRequest
    let module: VehicleModules.Module
    let answer: VehicleModules.Answer

    /// Longer answers do not fit in one frame of the bus (ISO 15765-2).
    static let singleFrameBytes = 7
    private static let firstFrameBytes = 6

    init(
        _ request: DiagnosticRequest, _ module: VehicleModules.Module,
        _ answer: VehicleModules.Answer
    ) {
        self.request = request
        self.module = module
        self.answer = answer
    }

    func contents(inSegments: Bool) -> [VehicleMessage.Content] {
        switch answer {
        case .negative(let code):
            var response = response(success: false)
            response.negativeResponseCode = code.rawValue
            return [.diagnostic(response)]
        case .positive(let data):
            let whole = head + data
            if whole.count > Self.singleFrameBytes, inSegments { return segments(of: whole) }
            if let name = request.name, !name.isEmpty {
                return [.measurement(Measurement(name, .number(value(of: data))))]
            }
            var response = response(success: true)
            if isDecoded {
                response.value = .number(value(of: data))
            } else if !data.isEmpty {
                response.payload = data
            }
            return [.diagnostic(response)]
        }
    }

    private func response(success: Bool) -> DiagnosticResponse {
        // The module that was asked; if all were asked, the identifier of the one that answers.
        let id =
            request.id == DiagnosticRequest.everybody ? module.responseID : module.responseID - 8
        return DiagnosticResponse(
            bus: max(1, request.bus), id: id, mode: request.mode, pid: request.pid, success: success
        )
    }

    /// The bytes before the data on the bus.
    private var head: [UInt8] {
        var head = [UInt8(truncatingIfNeeded: request.mode &+ 0x40)]
        if request.mode == 0x22 || request.pid > 0xFF {
            head.append(UInt8(truncatingIfNeeded: request.pid >> 8))
        }
        if request.mode == 0x01 || request.mode == 0x09 || request.mode == 0x22 {
            head.append(UInt8(truncatingIfNeeded: request.pid))
        }
        return head
    }

    /// In pieces, each as long as one frame of the bus holds; the last has number -1.
    private func segments(of whole: [UInt8]) -> [VehicleMessage.Content] {
        var contents: [VehicleMessage.Content] = []
        var rest = whole[...]
        while !rest.isEmpty {
            let count = contents.isEmpty ? Self.firstFrameBytes : Self.singleFrameBytes
            var response = response(success: true)
            response.payload = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            response.frame = rest.isEmpty ? -1 : Int32(contents.count)
            response.totalSize = UInt32(whole.count)
            contents.append(.diagnostic(response))
        }
        return contents
    }

    // MARK: - Decoding

    /// Whether the value is to be decoded: on request, or because the parameter is a standard one.
    private var isDecoded: Bool {
        request.decodedType != nil || request.mode == 0x01 && request.pid < 0xFF
    }

    /// Decodes by the rule of the parameter; otherwise takes all bytes as one number, as far as there is room.
    private func value(of data: [UInt8]) -> Double {
        if request.mode == 0x01, request.decodedType != DiagnosticRequest.DecodedType.none,
            let value = ParameterTable.all[request.pid]?.value
        {
            return value(data)
        }
        return data.prefix(8).reduce(0) { $0 * 256 + Double($1) }
    }
}
