import ArgumentParser
import ControlAPI
import Glibc
import NIOCore
import SDLProtocol

/// PutFile requests for a file: one per piece, each with the checksum of its data (MOBILE_API,
/// "PutFile").
struct FileUpload {
    let pieces: [DriveRequest]

    /// Bytes of one request.
    static let pieceBytes = 512 << 10

    init(_ bytes: [UInt8], _ request: DriveRequest, pieceBytes: Int = Self.pieceBytes) throws {
        guard !bytes.isEmpty else {
            throw ValidationError("the file is empty; expected at least one byte")
        }
        var pieces: [DriveRequest] = []
        for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
            let data = Array(bytes[start..<min(start + pieceBytes, bytes.count)])
            var piece = request.with(bulk: data)
            var set = request.set ?? []
            func add(_ name: String, _ value: Int) {
                let isGiven = set.contains { $0.hasPrefix("\(name)=") || $0.hasPrefix("\(name):=") }
                if !isGiven { set.append("\(name)=\(value)") }
            }
            if bytes.count > pieceBytes {
                add("offset", start)
                // The first piece has the size of the whole file, the others their own.
                add("length", start == 0 ? bytes.count : data.count)
            }
            add("crc", Int(CRC32.checksum(of: data)))
            piece.set = set
            pieces.append(piece)
        }
        self.pieces = pieces
    }
}

extension DriveRequest {
    func with(bulk bytes: [UInt8]) -> DriveRequest {
        var copy = self
        copy.bulk = Base64.encoded(bytes)
        return copy
    }
}

/// Reads files that are named on the command line.
enum DriveFile {
    /// The largest file that is sent: far more than the memory card of a head unit may hold.
    static let maximumBytes = 256 << 20

    static func parameters(_ path: String) throws -> AnyJSON {
        let bytes = try bytes(path)
        guard (try? JSONObject(ByteBuffer(bytes: bytes))) != nil,
            let parameters = try? APICoding.decode(AnyJSON.self, from: bytes)
        else {
            throw ValidationError(
                "\(SafeText.clean(path)) is no JSON object; expected parameters such as "
                    + #"{"mainField1": "Hello"}"#)
        }
        return parameters
    }

    /// - Parameters:
    ///   - path: "-" is standard input.
    ///   - limit: The largest size in bytes.
    static func bytes(_ path: String, limit: Int = maximumBytes) throws -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path, errno) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(path, errno) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= limit else {
                throw ValidationError(
                    "\(SafeText.clean(path)) is larger than \(limit >> 20) MiB")
            }
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> ValidationError {
        ValidationError(
            "\(SafeText.clean(path)) cannot be read: \(String(cString: strerror(code)))")
    }
}
