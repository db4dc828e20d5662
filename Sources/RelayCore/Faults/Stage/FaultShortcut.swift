// The short way for frames that no rule takes: nearly all of them.

import NIOCore
import SDLProtocol

/// An app that sends or receives the frames that fault rules decide about.
protocol FaultApp: Hashable {
    /// A number that differs for every app there ever was.
    var faultNumber: UInt64 { get }
}

/// Remembers, by app, kinds of messages that no rule takes. Asked before anything is decoded: two words of
/// the frame tell its kind, and one lookup tells whether it is known. Each kind has one place; another kind
/// with the same place replaces it.
struct FaultShortcut {
    /// Numbers only: a reference to an app would be counted for every frame.
    private struct Entry {
        var kind: UInt64 = 0
        var app: UInt64 = 0
    }

    private static var places: Int { 256 }
    private var entries = [Entry](repeating: Entry(), count: Self.places)

    /// The kind of all consecutive frames: no rule takes them while no message that a rule took is under way.
    /// No other frame has this kind; those that are examined more closely have 0.
    static var consecutive: UInt64 { 1 }

    /// The kind of a frame. What `FaultHeader` makes of a frame that is or begins a message depends on its
    /// kind alone.
    ///
    /// - Returns: 0 for frames that are examined more closely: control frames, registrations, messages too
    ///   short for their header.
    @inline(__always)
    static func kind(of frame: Frame, _ direction: Direction) -> UInt64 {
        frame.wire.withUnsafeReadableBytes { kind(of: $0, direction) }
    }

    @inline(__always)
    private static func kind(of wire: UnsafeRawBufferPointer, _ direction: Direction) -> UInt64 {
        guard wire.count >= 4 else { return 0 }
        let header = UInt32(bigEndian: wire.loadUnaligned(as: UInt32.self))
        let type = UInt8(truncatingIfNeeded: header >> 24) & 0b111
        guard type != FrameType.consecutive.rawValue else { return consecutive }
        guard type == FrameType.single.rawValue || type == FrameType.first.rawValue else {
            return 0
        }
        // Without the info byte, which counts the frames of a message; the direction takes its place.
        let place = UInt64(header & 0xFFFF_00FF | (direction == .fromApp ? 0x100 : 0)) << 32
        let service = UInt8(truncatingIfNeeded: header >> 16)
        // For a stream, for TLS and where only the next frame tells more, the header is all that is known.
        guard service == ServiceType.rpc.rawValue || service == ServiceType.bulk.rawValue,
            type == FrameType.single.rawValue, header >> 24 & 0b1000 == 0
        else { return place }
        // v1 has no binary header (SDL protocol spec, "RPC payload").
        guard header >> 28 > 1, wire.count >= 12 + RPCHeader.bytes else { return 0 }
        let function = UInt32(bigEndian: wire.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        // Its parameters contain the app's name.
        guard direction != .fromApp || function != registration else { return 0 }
        return place | UInt64(function)
    }

    /// The first word of a request to register: its type is 0.
    private static var registration: UInt32 { 1 }

    @inline(__always)
    func knows(_ kind: UInt64, of app: UInt64) -> Bool {
        let entry = entries[Self.place(of: kind)]
        return entry.kind == kind && entry.app == app
    }

    mutating func remember(_ kind: UInt64, of app: UInt64) {
        entries[Self.place(of: kind)] = Entry(kind: kind, app: app)
    }

    /// Forgets all kinds, because rules or names have changed.
    mutating func forget() {
        entries = [Entry](repeating: Entry(), count: Self.places)
    }

    /// The upper bits of a product with 2^64 divided by the golden ratio depend on all bits of the kind.
    @inline(__always)
    private static func place(of kind: UInt64) -> Int {
        Int((kind &* 0x9E37_79B9_7F4A_7C15) >> 56)
    }
}
