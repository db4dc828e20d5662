package import NIOCore

/// Assembles pictures from an app's video service, starting at the first one that a decoder can begin with:
/// an IDR preceded by its parameter sets.
///
/// After a gap, the stream continues with the next picture of that kind.
package struct VideoStream: Sendable {
    /// Pictures that can be displayed.
    package private(set) var pictures = 0
    package private(set) var keyPictures = 0
    /// Pictures before the first one that a decoder can begin with.
    package private(set) var picturesBefore = 0
    /// Pictures after a gap, up to the next one that a decoder can begin with.
    package private(set) var picturesLost = 0
    /// Faults of packets.
    package private(set) var faults = 0
    package private(set) var firstFault: RTPFault?

    /// Nil until the beginning of a message tells. Until then the data is read as a byte stream, which finds
    /// nothing in packets.
    private var transport: VideoTransport?
    /// Whether the transport was announced, or has produced a picture.
    private var isCertain: Bool
    /// The part received of a message that is too short to tell; nil after its beginning.
    private var start: ByteBuffer?
    private var splitter = AnnexBSplitter()
    private var framing = RTPFraming()
    private var packets = RTPDepacketiser()
    private var timestamp: UInt32?
    private var assembler = PictureAssembler()
    private var sets = ParameterSets()
    private var isWaiting = true
    /// Whether to skip a message whose beginning is missing: it cannot be read.
    private var skipsMessage = true
    private var seenOversized = 0

    /// - Parameter format: Must be readable.
    package init(_ format: VideoFormat) {
        transport = format.transport.map { $0 == "RTP" ? .rtp : .raw }
        isCertain = transport != nil
    }

    /// Pictures that were too long, or had a unit that was.
    package var oversized: Int { assembler.oversized }

    /// Bytes of incomplete data.
    package var heldBytes: Int {
        splitter.heldBytes + framing.heldBytes + packets.heldBytes + assembler.heldBytes
    }

    /// Handles the payload of a data frame.
    ///
    /// - Parameter beginsMessage: Whether it is a whole message, or the first piece of one.
    /// - Returns: Pictures that are now complete and can be shown.
    package mutating func receive(_ payload: ByteBuffer, beginsMessage: Bool) -> [Picture] {
        if beginsMessage {
            skipsMessage = false
            readStart()
            start = transport == nil ? ByteBuffer() : nil
        }
        guard !skipsMessage, payload.readableBytes > 0 else { return [] }
        return switch transport {
        case .rtp: unpack(payload)
        case .raw: cut(payload)
        case nil: guess(payload)
        }
    }

    /// Drops incomplete data, because frames are missing here.
    package mutating func skip() {
        splitter.discard()
        framing.discard()
        packets.discard()
        start = nil
        lose()
        skipsMessage = true
    }

    /// The remaining pictures at the end.
    package mutating func finish() -> [Picture] {
        var pictures: [Picture] = []
        readStart()
        pictures += cut(ByteBuffer())
        if let unit = splitter.finish() { append(unit, to: &pictures) }
        // A picture that is cut off lacks its rest.
        if packets.isInUnit { note(.noEnd) } else if framing.heldBytes > 0 { lose() }
        endPicture(&pictures)
        return pictures
    }

    /// Reads a byte stream, unless the beginning of the message indicates another transport.
    private mutating func guess(_ payload: ByteBuffer) -> [Picture] {
        guard var start else { return cut(payload) }
        start.writeImmutableBuffer(payload)
        if start.readableBytes < VideoTransport.tellingBytes, VideoTransport.told(by: start) == nil
        {
            self.start = start
            return []
        }
        self.start = nil
        transport = VideoTransport.told(by: start)
        guard transport == .rtp else { return cut(start) }
        splitter.discard()
        assembler.discard()
        return unpack(start)
    }

    /// Takes a message that was too short to tell for a part of a byte stream.
    private mutating func readStart() {
        if let start { splitter.append(start) }
        start = nil
    }

    // MARK: - Byte stream

    private mutating func cut(_ payload: ByteBuffer) -> [Picture] {
        var pictures: [Picture] = []
        splitter.append(payload)
        while let unit = splitter.next() { append(unit, to: &pictures) }
        return pictures
    }

    // MARK: - Packets

    private mutating func unpack(_ payload: ByteBuffer) -> [Picture] {
        var pictures: [Picture] = []
        framing.append(payload)
        while let bytes = framing.next() {
            // An empty packet: RFC 4571 allows it.
            guard bytes.readableBytes > 0 else { continue }
            do throws(RTPFault) {
                let packet = try RTPPacket(bytes)
                // First the loss: the unit begun may have no end. The packet itself may begin a picture.
                if let fault = packets.loss(before: packet) { note(fault) }
                guard packet.payload.readableBytes > 0 else { continue }
                // The next picture begins, although no marker ended the previous one.
                if let timestamp, timestamp != packet.timestamp { endPicture(&pictures) }
                timestamp = packet.timestamp
                let found = try packets.receive(packet)
                for unit in found.units { append(unit, to: &pictures) }
                if found.isEnd { endPicture(&pictures) }
            } catch {
                note(error)
            }
        }
        return pictures
    }

    private mutating func note(_ fault: RTPFault) {
        faults &+= 1
        if firstFault == nil { firstFault = fault }
        lose()
        switch fault {
        case .tooShort, .version, .padding:
            // The lengths are not where they should be; the next message begins with one.
            skip()
            // Perhaps the data never had lengths.
            if !isCertain { transport = nil }
        default: break
        }
    }

    // MARK: - Pictures

    private mutating func append(_ unit: NALUnit, to pictures: inout [Picture]) {
        // The picture that ended is whole, whatever is wrong with this unit.
        if let picture = assembler.append(unit) { pass(picture, to: &pictures) }
        if assembler.oversized != seenOversized {
            seenOversized = assembler.oversized
            isWaiting = true
        }
        if unit.isSequenceParameterSet || unit.isPictureParameterSet { sets.learn(unit) }
    }

    private mutating func endPicture(_ pictures: inout [Picture]) {
        if let picture = assembler.end() { pass(picture, to: &pictures) }
    }

    private mutating func pass(_ picture: Picture, to passed: inout [Picture]) {
        var picture = picture
        if isWaiting {
            guard picture.isKey, !picture.isHeadless, sets.isComplete else {
                if pictures == 0 { picturesBefore &+= 1 } else { picturesLost &+= 1 }
                return
            }
            picture = withSets(picture)
            isWaiting = false
            picture.entry = picture.annexB
        } else if picture.isKey, !picture.isHeadless, sets.isComplete {
            picture.entry = withSets(picture).annexB
        }
        pictures &+= 1
        if picture.isKey { keyPictures &+= 1 }
        if !isCertain {
            isCertain = true
            transport = transport ?? .raw
        }
        passed.append(picture)
    }

    /// Inserts the known parameter sets; the picture's own sets come after them and take precedence.
    private func withSets(_ picture: Picture) -> Picture {
        var whole = picture
        let known = sets.units.filter { !picture.units.contains($0) }
        if !known.isEmpty { whole.insert(known) }
        return whole
    }

    private mutating func lose() {
        assembler.discard()
        timestamp = nil
        isWaiting = true
    }
}
