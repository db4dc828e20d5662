import CSystemd
import Glibc

/// A message on the bus: its arguments are read, or written, from first to last.
///
/// Types are D-Bus signatures: `s` text, `o` object path, `b` boolean, `q` 16 bits, `h` descriptor, `v` any
/// of them, `a` array of, `{}` entry of a dictionary.
final class BusMessage {
    private let pointer: OpaquePointer

    /// - Parameter pointer: The caller's reference, which this object takes over.
    init(taking pointer: OpaquePointer) { self.pointer = pointer }

    /// - Parameter pointer: A reference that stays with its owner.
    init(sharing pointer: OpaquePointer) { self.pointer = sd_bus_message_ref(pointer) }

    deinit { sd_bus_message_unref(pointer) }

    /// Lends the message to libsystemd: the pointer is good until this returns.
    func lend<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// Why the call failed, if the message is an error reply.
    var failure: BusFailure? {
        guard sd_bus_message_is_method_error(pointer, nil) > 0,
            let error = sd_bus_message_get_error(pointer)
        else { return nil }
        return .refused(
            name: error.pointee.name.map { String(cString: $0) } ?? "an error without a name",
            words: error.pointee.message.map { String(cString: $0) } ?? "")
    }

    var member: String {
        sd_bus_message_get_member(pointer).map { String(cString: $0) } ?? ""
    }

    var interface: String {
        sd_bus_message_get_interface(pointer).map { String(cString: $0) } ?? ""
    }

    /// The unique name of the sender.
    var sender: String {
        sd_bus_message_get_sender(pointer).map { String(cString: $0) } ?? ""
    }

    // MARK: Reading

    func text() throws(BusFailure) -> String { try string("s") }
    func path() throws(BusFailure) -> String { try string("o") }

    func flag() throws(BusFailure) -> Bool {
        var value: CInt = 0
        try read("b", into: &value)
        return value != 0
    }

    /// All texts of an array.
    func texts() throws(BusFailure) -> [String] {
        var texts: [String] = []
        try each("s") { () throws(BusFailure) in texts.append(try text()) }
        return texts
    }

    /// A copy of the socket that came with it; the message keeps its own.
    ///
    /// - Throws: `BusFailure` also for a descriptor that is no socket, which an event loop could not take.
    func socket() throws(BusFailure) -> OwnedDescriptor {
        var value: CInt = -1
        try read("h", into: &value)
        var kind: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        guard getsockopt(value, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 else {
            throw .system("what came is no connection", errno: errno)
        }
        let copy = fcntl(value, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            throw .system("a descriptor could not be duplicated", errno: errno)
        }
        return OwnedDescriptor(copy)
    }

    /// Reads the members of an array, one after the other.
    func each(
        _ type: String, _ body: () throws(BusFailure) -> Void
    ) throws(BusFailure) {
        try enter("a", type)
        while sd_bus_message_at_end(pointer, 0) == 0 { try body() }
        try exit()
    }

    /// Reads the entries of a dictionary whose keys are texts or object paths.
    func eachEntry(
        _ type: String, _ body: (String) throws(BusFailure) -> Void
    ) throws(BusFailure) {
        try each("{\(type)}") { () throws(BusFailure) in
            try enter("e", type)
            try body(string(type.hasPrefix("o") ? "o" : "s"))
            try exit()
        }
    }

    /// The contents of a variant if it is of this type; one of another type is skipped.
    func variant<Value>(
        _ type: String, _ body: () throws(BusFailure) -> Value
    ) throws(BusFailure) -> Value? {
        guard sd_bus_message_verify_type(pointer, Self.code("v"), type) > 0 else {
            try skip("v")
            return nil
        }
        try enter("v", type)
        let value = try body()
        try exit()
        return value
    }

    func skip(_ type: String) throws(BusFailure) {
        try check(sd_bus_message_skip(pointer, type))
    }

    // MARK: Writing

    func append(text: String) throws(BusFailure) {
        try check(sd_bus_message_append_basic(pointer, Self.code("s"), text))
    }

    func append(path: String) throws(BusFailure) {
        try check(sd_bus_message_append_basic(pointer, Self.code("o"), path))
    }

    /// Options by name.
    func append(options: [BusOption]) throws(BusFailure) {
        try open("a", "{sv}")
        for option in options {
            try open("e", "sv")
            try append(text: option.name)
            try open("v", option.value.type)
            switch option.value {
            case .text(let text): try append(text: text)
            case .number(var number):
                try check(sd_bus_message_append_basic(pointer, Self.code("q"), &number))
            case .flag(let flag):
                var value: CInt = flag ? 1 : 0
                try check(sd_bus_message_append_basic(pointer, Self.code("b"), &value))
            }
            try close()
            try close()
        }
        try close()
    }

    // MARK: libsystemd

    private func string(_ type: String) throws(BusFailure) -> String {
        var value: UnsafePointer<CChar>?
        try read(type, into: &value)
        return value.map { String(cString: $0) } ?? ""
    }

    private func read<Value: BitwiseCopyable>(
        _ type: String, into value: inout Value
    ) throws(BusFailure) {
        let status = sd_bus_message_read_basic(pointer, Self.code(type), &value)
        guard status != 0 else {
            throw .system("a message on the bus ends where \"\(type)\" is expected", errno: EBADMSG)
        }
        try check(status)
    }

    private func enter(_ type: String, _ contents: String) throws(BusFailure) {
        let status = sd_bus_message_enter_container(pointer, Self.code(type), contents)
        guard status != 0 else {
            throw .system("a message on the bus ends where \"\(type)\" is expected", errno: EBADMSG)
        }
        try check(status)
    }

    private func exit() throws(BusFailure) { try check(sd_bus_message_exit_container(pointer)) }

    private func open(_ type: String, _ contents: String) throws(BusFailure) {
        try check(sd_bus_message_open_container(pointer, Self.code(type), contents))
    }

    private func close() throws(BusFailure) {
        try check(sd_bus_message_close_container(pointer))
    }

    private func check(_ status: CInt) throws(BusFailure) {
        guard status >= 0 else {
            throw .system("a message on the bus is not as expected", errno: -status)
        }
    }

    private static func code(_ type: String) -> CChar {
        type.utf8.first.map { CChar(bitPattern: $0) } ?? 0
    }
}

/// One option of a call.
struct BusOption: Hashable, Sendable {
    enum Value: Hashable, Sendable {
        case text(String)
        case number(UInt16)
        case flag(Bool)

        var type: String {
            switch self {
            case .text: "s"
            case .number: "q"
            case .flag: "b"
            }
        }
    }

    let name: String
    let value: Value

    init(_ name: String, _ value: Value) { (self.name, self.value) = (name, value) }
}
