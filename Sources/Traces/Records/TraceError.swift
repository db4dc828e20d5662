/// Why a pcapng file is not a trace, or a packet in it cannot be read.
package enum TraceError: Error, Hashable, Sendable {
    case pcapng(PcapngError)
    /// A file without bytes.
    case empty
    /// The file ends before the first packet: its bytes belong to no block, or to blocks that only precede
    /// packets.
    case tooShort(bytes: UInt64)
    /// The beginning of the trace is missing: a tool has removed it.
    case noBeginning
    /// A whole pcapng file without a packet of relayd.
    case notATrace(application: String?)
    /// A file of a later version of the format.
    case newer(version: Int)
    case noInterface(UInt32)
    case recordTooLarge(Int)
    case noRecord(String)
    case incompleteRecord(String)
    /// A packet for the dissector "sdl" that is not one whole frame.
    case noFrame(bytes: Int)
    case timeOutOfRange(UInt64)
    /// A frame without the packet flags that say who sent it.
    case noDirection
    case tags

    /// Whether the error concerns one packet.
    var isOfPacket: Bool {
        switch self {
        case .pcapng, .empty, .tooShort, .noBeginning, .notATrace, .newer: false
        case .noInterface, .recordTooLarge, .noRecord, .incompleteRecord, .noFrame, .timeOutOfRange,
            .noDirection, .tags:
            true
        }
    }
}

extension TraceError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .pcapng(let error): "\(error)"
        case .empty:
            "empty, 0 bytes; expected a trace, which begins with a pcapng section and a packet: was its "
                + "writer stopped, or the disk full?"
        case .tooShort(let bytes):
            "too short to be a trace: \(bytes) bytes without a whole packet; expected a pcapng section "
                + "and a packet: copy it again, or wait until its writer has written more"
        case .noBeginning:
            "the first packet of the trace is missing, which says what is in it: keep packet 1 when you cut "
                + "with editcap or tshark, or use \"relayctl trace cut\""
        case .notATrace(let application):
            "a pcapng file, but not a trace of relayd\(application.map { " (made by \($0))" } ?? ""); "
                + "traces are made by \"relayctl record\""
        case .newer(let version):
            "a trace of version \(version), this program reads version \(TraceHeader.version): "
                + "use a newer relayctl"
        case .noInterface(let number):
            "a packet of interface \(number), which the file does not describe"
        case .recordTooLarge(let bytes):
            "a record of \(bytes) bytes, at most \(TraceRecord.maximumBytes) are allowed"
        case .noRecord(let text):
            "expected a record, one JSON object with members as \"relayctl record format\" has them, found "
                + "\"\(text)\""
        case .incompleteRecord(let name): "the record \"\(name)\" lacks something it must have"
        case .noFrame(let bytes): "\(bytes) bytes that are not one whole SDL frame"
        case .timeOutOfRange(let ticks): "a packet with a time out of range (\(ticks) ticks)"
        case .noDirection:
            "a frame that does not say who sent it: the packet's flags are missing, which only pcapng files "
                + "keep; use the trace as relayd wrote it"
        case .tags: "a packet whose exported-PDU tags are damaged"
        }
    }
}
