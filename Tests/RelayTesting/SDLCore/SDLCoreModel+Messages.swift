// How sdl_core joins messages of several frames, and what happens to unfinished ones.

import NIOCore
import SDLProtocol

extension SDLCoreModel {
    /// Handles a first frame. It is ignored while a message with the same ID is unfinished.
    mutating func begin(_ frame: Frame, on id: ConnectionID) {
        let announced = Int(
            frame.payload.getInteger(at: frame.payload.readerIndex, as: UInt32.self) ?? 0)
        guard announced > 0 || !habits.stopsReadingAtEmptyMessage else {
            connections[id]?.hasStoppedReading = true
            return
        }
        let key = HalfKey(
            connection: id, session: frame.sessionID, messageID: frame.messageID ?? 0)
        guard halves[key] == nil else { return }
        halves[key] = Half(
            version: frame.version, announced: announced, movedAt: now,
            lives: [life(of: frame.sessionID)])
    }

    /// Handles a consecutive frame, which must have the next number, or 0 as the last. A payload that
    /// does not fit into the announced size is not appended, but a last frame still ends the message.
    mutating func goOn(_ frame: Frame, on id: ConnectionID) {
        let key = HalfKey(
            connection: id, session: frame.sessionID, messageID: frame.messageID ?? 0)
        guard let half = halves.index(forKey: key) else { return }
        let last = halves.values[half].info
        guard frame.info == 0 || frame.info == (last == 255 ? 1 : last + 1) else { return }
        halves.values[half].info = frame.info
        let payload = frame.payload
        let arrived = halves.values[half].bytes.readableBytes
        guard arrived + payload.readableBytes <= halves.values[half].announced else { return }
        halves.values[half].bytes.writeImmutableBuffer(payload)
        halves.values[half].movedAt = now
        let life = life(of: frame.sessionID)
        if !halves.values[half].lives.contains(life) { halves.values[half].lives.append(life) }
    }

    /// Passes on finished messages, and those that have waited too long, as they are.
    mutating func takeHalves() {
        guard !halves.isEmpty else { return }
        let ready = halves.filter { _, half in
            half.info == 0 && half.bytes.readableBytes > 0
                || half.movedAt + habits.halfTimeout <= now
        }
        guard !ready.isEmpty else { return }
        for (key, half) in ready.sorted(by: { $0.value.movedAt < $1.value.movedAt }) {
            halves[key] = nil
            let stale = staleHeap
            if let header = RPCHeader(half.bytes) { staleHeap = (header, half.announced) }
            enqueue(
                QueuedMessage(
                    number: counters.framesReceived, session: key.session, version: half.version,
                    payload: completed(half, from: stale),
                    missing: half.announced - half.bytes.readableBytes,
                    connection: key.connection, lives: half.lives, due: now))
        }
    }

    /// Continues a message that ends inside its RPC header with what its memory held before.
    private mutating func completed(
        _ half: Half, from stale: (header: RPCHeader, bytes: Int)?
    ) -> ByteBuffer {
        guard half.bytes.readableBytes < RPCHeader.bytes, let stale,
            stale.bytes < half.announced, chance(habits.staleHeapChance)
        else { return half.bytes }
        var bytes = ByteBuffer()
        stale.header.write(to: &bytes)
        return bytes
    }

    mutating func deliver(
        _ payload: ByteBuffer, of frame: Frame, on id: ConnectionID, life: Int
    ) {
        guard frame.service.carriesRPC else { return }
        enqueue(
            QueuedMessage(
                number: counters.framesReceived, session: frame.sessionID, version: frame.version,
                payload: payload,
                connection: id, lives: [life], due: now))
    }

    private mutating func enqueue(_ message: QueuedMessage) {
        var message = message
        message.due = due(habits.requestLatency, after: requestQueue.last?.due)
        requestQueue.append(message)
    }

    mutating func stream(_ frame: Frame) {
        guard sessions[frame.sessionID]?.streams.contains(frame.service) == true else { return }
        sessions[frame.sessionID]?.streamBytes += frame.payloadBytes
    }
}
