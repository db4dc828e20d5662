/// The numbers of pcapng that traces use (draft-ietf-opsawg-pcapng, sections 3.5 and 4).
enum PcapngNumbers {
    static let section: UInt32 = 0x0A0D_0D0A
    static let interface: UInt32 = 1
    static let packet: UInt32 = 6
    /// In the writer's byte order; reversed in a file of the other byte order.
    static let byteOrderMagic: UInt32 = 0x1A2B_3C4D

    enum Option {
        static let end: UInt16 = 0
        static let comment: UInt16 = 1
        static let operatingSystem: UInt16 = 3
        static let application: UInt16 = 4
        static let name: UInt16 = 2
        static let description: UInt16 = 3
        static let resolution: UInt16 = 9
        static let offset: UInt16 = 14
        static let flags: UInt16 = 2
    }

    /// The maximum length of an option's text.
    static let maximumOptionBytes = Int(UInt16.max)

    static func padding(_ bytes: Int) -> Int { -bytes & 3 }
}
