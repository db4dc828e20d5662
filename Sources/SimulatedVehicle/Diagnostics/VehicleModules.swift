import OpenXCProtocol

/// The answers of the simulated vehicle's modules to diagnostic requests: an engine at 0x7e0 and a gearbox at
/// 0x7e1. A request that no module can answer stays unanswered.
struct VehicleModules: Sendable {
    /// The answer of one module.
    enum Answer: Hashable, Sendable {
        /// - Parameter data: the bytes after service and parameter.
        case positive([UInt8])
        case negative(NegativeCode)
    }

    /// ISO 14229-1, annex A.
    enum NegativeCode: UInt32, Hashable, Sendable {
        case serviceNotSupported = 0x11
        case subFunctionNotSupported = 0x12
        case incorrectLength = 0x13
        case requestOutOfRange = 0x31
    }

    enum Module: UInt32, Sendable, CaseIterable {
        case engine = 0x7E0
        case gearbox = 0x7E1

        /// The identifier it answers with.
        var responseID: UInt32 { rawValue + 8 }
    }

    let vin: String?

    /// The modules that an identifier addresses.
    static func addressed(by id: UInt32) -> [Module] {
        if id == DiagnosticRequest.everybody { return Module.allCases }
        return Module(rawValue: id).map { [$0] } ?? []
    }

    /// - Returns: Nil when the module keeps silent.
    func answer(_ request: DiagnosticRequest, of module: Module, in drive: Drive) -> Answer? {
        let answer = answer(
            mode: request.mode, pid: request.pid, payload: request.payload, module, drive)
        // A module does not refuse a request that was sent to all (ISO 15765-4).
        if request.id == DiagnosticRequest.everybody, case .negative = answer { return nil }
        return answer
    }

    private func answer(
        mode: UInt32, pid: UInt32, payload: [UInt8]?, _ module: Module, _ drive: Drive
    ) -> Answer {
        switch (mode, module) {
        case (0x01, .engine):
            ParameterTable.all[pid].map { .positive($0.bytes(drive)) }
                ?? .negative(.subFunctionNotSupported)
        case (0x01, .gearbox):
            switch pid {
            // Only 0x0D is supported.
            case 0x00: .positive([0x00, 0x08, 0x00, 0x00])
            case 0x0D: .positive(ParameterTable.all[0x0D]?.bytes(drive) ?? [])
            default: .negative(.subFunctionNotSupported)
            }
        // No trouble codes: stored, pending, permanent.
        case (0x03, _), (0x07, _), (0x0A, _): .positive([0x00])
        case (0x09, .engine): vehicleInformation(pid)
        case (0x22, .engine): byIdentifier(pid)
        case (0x3E, _): .positive([])
        default: .negative(.serviceNotSupported)
        }
    }

    private func vehicleInformation(_ pid: UInt32) -> Answer {
        switch pid {
        case 0x00: .positive([0x54, 0x40, 0x00, 0x00])
        case 0x02:
            vin.map { .positive([0x01] + Array($0.utf8)) } ?? .negative(.subFunctionNotSupported)
        case 0x04: .positive([0x01] + Self.padded("SIM-ENGINE-0001", to: 16))
        case 0x06: .positive([0x01, 0x51, 0x3A, 0x00, 0x17])
        case 0x0A: .positive([0x01] + Self.padded("ECM\u{0}-EngineControl", to: 20))
        default: .negative(.subFunctionNotSupported)
        }
    }

    private func byIdentifier(_ identifier: UInt32) -> Answer {
        switch identifier {
        case 0xF190: vin.map { .positive(Array($0.utf8)) } ?? .negative(.requestOutOfRange)
        case 0xDE00: .positive([0x12, 0x34])
        // The longest data that fit into a message.
        case 0xDE01: .positive((0..<200).map { UInt8($0) })
        case 0...0xFF: .negative(.incorrectLength)
        default: .negative(.requestOutOfRange)
        }
    }

    private static func padded(_ text: String, to count: Int) -> [UInt8] {
        Array((Array(text.utf8) + Array(repeating: 0, count: count)).prefix(count))
    }
}
