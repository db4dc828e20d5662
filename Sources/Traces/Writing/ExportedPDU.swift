/// The beginning of a packet: Wireshark's tag 12, the name of the dissector, and the end of the tags
/// (epan/exported_pdu.h). All of them are constants.
enum ExportedPDU {
    static let linkType: UInt16 = 252
    static let dissectorTag: UInt16 = 12

    static let frame: StaticString = "\u{0}\u{C}\u{0}\u{4}sdl\u{0}\u{0}\u{0}\u{0}\u{0}"
    static let bytes: StaticString = "\u{0}\u{C}\u{0}\u{4}data\u{0}\u{0}\u{0}\u{0}"
    static let record: StaticString = "\u{0}\u{C}\u{0}\u{8}relayd\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}"
}
