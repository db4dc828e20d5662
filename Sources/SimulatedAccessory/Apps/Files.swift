import NIOCore
import SDLProtocol

/// The files that one app has stored: names and sizes are kept, contents are checked and dropped.
struct FileStore: Sendable {
    struct File: Sendable {
        /// The size in bytes that the first chunk announced.
        var totalBytes: Int
        var receivedBytes: Int
        var isPersistent: Bool
    }

    /// Bytes an app may store; sdl_core's default (`AppDirectoryQuota`).
    static let quotaBytes = 104_857_600
    /// Files an app may store. sdl_core counts only bytes, but it keeps names on a disk.
    static let maximumFiles = 1000
    /// Characters of a file's name (MOBILE_API, "PutFile").
    static let maximumNameLength = 255

    /// When it last took a chunk.
    private(set) var changed: NIODeadline
    private(set) var files: [String: File] = [:]

    init(at now: NIODeadline) {
        changed = now
    }

    var isEmpty: Bool { files.isEmpty }
    var spaceAvailable: Int { Self.quotaBytes - files.values.reduce(0) { $0 + $1.receivedBytes } }
    /// Complete files, in alphabetical order.
    var names: [String] {
        files.filter { $0.value.receivedBytes >= $0.value.totalBytes }.keys.sorted()
    }

    /// Whether a file is complete.
    func isComplete(_ name: String) -> Bool {
        files[name].map { $0.receivedBytes >= $0.totalBytes } ?? false
    }

    subscript(name: String) -> File? {
        get { files[name] }
        set { files[name] = newValue }
    }

    mutating func removeTemporary() {
        files = files.filter(\.value.isPersistent)
    }
}

extension SimulatedAccessory {
    /// A whole file or a chunk of one: libraries cut files into PutFile requests of one frame each,
    /// the first of which announces the whole length. Comes on service 0x07 as well as on 0x0F.
    mutating func putFile(_ request: Request) {
        guard let appID = sessions[request.sessionID]?.app?.appID,
            let name = fileName(request)
        else {
            respond(to: request, .invalidData, info: "the file name is not valid")
            return
        }
        if files[appID] == nil { makeRoomForStore() }
        var store = files[appID] ?? FileStore(at: now)
        let (result, info) = store.put(name, request, at: now)
        files[appID] = store
        respond(
            to: request, result, ["spaceAvailable": .integer(Int64(store.spaceAvailable))],
            info: info)
    }

    mutating func deleteFile(_ request: Request) {
        let appID = sessions[request.sessionID]?.app?.appID ?? ""
        let name = fileName(request)
        let exists = name.map { files[appID]?[$0] != nil } == true
        if let name { files[appID]?[name] = nil }
        respond(
            to: request, exists ? .success : .rejected, spaceAvailable(appID),
            info: exists ? nil : "there is no such file")
    }

    mutating func listFiles(_ request: Request) {
        let appID = sessions[request.sessionID]?.app?.appID ?? ""
        let names = files[appID]?.names.map(JSON.string) ?? []
        // sdl_core omits an empty list.
        let list: JSON = names.isEmpty ? [:] : ["filenames": .array(names)]
        respond(to: request, .success, list.merging(spaceAvailable(appID)))
    }

    mutating func setAppIcon(_ request: Request) {
        let appID = sessions[request.sessionID]?.app?.appID ?? ""
        let exists = fileName(request).map { files[appID]?[$0] != nil } == true
        respond(
            to: request, exists ? .success : .invalidData,
            info: exists ? nil : "there is no such file")
    }

    /// Persistent files outlive their apps. The files of the app that has been away longest go first.
    private mutating func makeRoomForStore() {
        guard files.count >= Self.maximumStores else { return }
        let present = Set(sessions.values.compactMap { $0.app?.appID })
        let oldest = files.filter { !present.contains($0.key) }.min {
            $0.value.changed < $1.value.changed
        }
        if let oldest { files[oldest.key] = nil }
    }

    private func spaceAvailable(_ appID: String) -> JSON {
        let space = files[appID]?.spaceAvailable ?? FileStore.quotaBytes
        return ["spaceAvailable": .integer(Int64(space))]
    }

    /// The most apps whose files are kept: more than there are sessions.
    private static let maximumStores = 300

    /// sdl_core stores files under their names, so it refuses names that would leave the folder.
    private func fileName(_ request: Request) -> String? {
        guard let name = request["syncFileName"]?.string, !name.isEmpty, !name.hasPrefix("."),
            name.unicodeScalars.count <= FileStore.maximumNameLength,
            !name.contains("/"), !name.contains("\\")
        else { return nil }
        return name
    }
}

extension FileStore {
    /// sdl_core's wording.
    private static let stored = "File was downloaded"

    /// Takes a chunk. Refusals are those of sdl_core (MOBILE_API, "PutFile").
    fileprivate mutating func put(
        _ name: String, _ request: Request, at now: NIODeadline
    ) -> (ResultCode, String?) {
        changed = now
        let bytes = request.bulk.readableBytes
        guard bytes > 0 else { return (.invalidData, "the request carries no bulk data") }
        if let crc = request["crc"]?.integer, crc != Int64(CRC32.checksum(of: request.bulk)) {
            return (.corruptedData, "crc does not match the bulk data")
        }
        let offset = request["offset"]?.integer ?? 0
        let replacedBytes = offset == 0 ? files[name]?.receivedBytes ?? 0 : 0
        guard bytes <= spaceAvailable + replacedBytes else { return (.outOfMemory, nil) }
        let length = request["length"]?.integer
        guard offset == 0 else {
            guard var file = files[name], offset == Int64(file.receivedBytes) else {
                let have = files[name]?.receivedBytes ?? 0
                return (.invalidData, "offset is \(offset), but \(have) bytes have arrived")
            }
            file.receivedBytes += bytes
            files[name] = file
            return (.success, Self.stored)
        }
        guard files[name] != nil || files.count < Self.maximumFiles else {
            return (.outOfMemory, "\(Self.maximumFiles) files are already stored")
        }
        files[name] = File(
            totalBytes: max(length.flatMap(Int.init(exactly:)) ?? bytes, bytes),
            receivedBytes: bytes,
            isPersistent: request["persistentFile"]?.bool ?? false)
        return (.success, Self.stored)
    }
}
