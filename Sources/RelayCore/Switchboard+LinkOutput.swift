// What the hub writes to the link: at once while it takes all, else in the scheduler's order and no
// more at a time than the pacer allows.

import NIOCore
import SDLProtocol

extension Switchboard {
    /// Writes to the link, or queues while it is busy.
    func forward(_ frame: Frame, from app: AppHandler?) {
        guard let linkHandler else { return }
        let bytes = frame.wire.readableBytes
        if !isLinkUnflushed {
            isLinkFull = !linkHandler.isWritable
            if pacer.isLookWelcome, !isLinkFull { look() }
        }
        if scheduler.isEmpty, !isLinkFull, bytes <= pacer.room || lookFindsRoom(for: bytes) {
            write(frame, to: linkHandler)
            return
        }
        // Looking flushes, and flushing may show that the link is gone: what would be queued now
        // would go to the next one, which has never heard of its session.
        guard self.linkHandler === linkHandler else { return }
        scheduler.enqueue(frame.keptCheaply, from: app, at: now)
        pacer.held(at: now)
        watchLink()
        scheduleLook()
        guard let app else { return }
        app.linkQueuedBytes += bytes
        if app.linkQueuedBytes >= configuration.linkQueueBytes {
            app.pause(.link)
            hit(.linkQueue)
        }
    }

    @inline(__always)
    func write(_ frame: Frame, to linkHandler: LinkHandler) {
        let bytes = frame.wire.readableBytes
        link.counters.sent(bytes)
        pacer.wrote(bytes)
        linkHandler.write(frame)
        isLinkUnflushed = true
    }

    func flushLink() {
        guard isLinkUnflushed, let linkHandler else { return }
        isLinkUnflushed = false
        linkHandler.flush()
        isLinkFull = !linkHandler.isWritable
    }

    // MARK: - Looking

    /// More may have gone than is known.
    private func lookFindsRoom(for bytes: Int) -> Bool {
        flushLink()
        guard !isLinkFull else { return false }
        look()
        return bytes <= pacer.room
    }

    /// - Parameter wasFull: The kernel took no more until just now.
    private func look(wasFull: Bool = false) {
        guard let linkHandler else { return }
        pacer.looked(waiting: linkHandler.bytesInKernel, isFull: wasFull, at: loop.now)
    }

    /// A timer runs only while frames wait for bytes in the kernel.
    private func scheduleLook() {
        guard linkLook == nil, !isLinkFull else { return }
        linkLook = loop.assumeIsolated().scheduleTask(in: pacer.nextLook) {
            self.linkLook = nil
            guard !self.isLinkFull else { return }
            self.look()
            self.drainLink(mayLook: true)
        }
    }

    // MARK: - Draining

    /// The kernel has taken what was flushed.
    func linkDrained() {
        isLinkFull = false
        guard !isDraining, !scheduler.isEmpty else { return }
        look(wasFull: true)
        drainLink(mayLook: true)
    }

    /// Writes what waits, the scheduler's choice first, as far as there is room.
    ///
    /// - Parameter mayLook: Ask the kernel when there is no room as far as is known. Else it is asked
    ///   only when so much has been written that it is time to.
    func drainLink(mayLook: Bool) {
        guard !isDraining, let linkHandler, !scheduler.isEmpty else { return }
        isDraining = true
        now = loop.now
        var resumable: [AppHandler] = []
        var hasLooked = !mayLook
        while !isLinkFull, !scheduler.isEmpty {
            let bytes = writeBatch(to: linkHandler, &resumable)
            if bytes > 0 {
                hasLooked = !mayLook
                flushLink()
            } else {
                guard !hasLooked || pacer.isLookDue else { break }
                hasLooked = true
                look()
            }
        }
        isDraining = false
        if scheduler.isEmpty {
            pacer.released()
            linkLook?.cancel()
            linkLook = nil
        } else {
            scheduleLook()
        }
        for app in resumable { app.resume(.link) }
    }

    /// - Returns: Bytes written.
    private func writeBatch(
        to linkHandler: LinkHandler, _ resumable: inout [AppHandler]
    ) -> Int {
        var bytes = 0
        while bytes < pacer.batchBytes, let entry = scheduler.next(at: now, upTo: pacer.room) {
            write(entry.frame, to: linkHandler)
            let size = entry.frame.wire.readableBytes
            bytes += size
            guard let app = entry.app else { continue }
            app.linkQueuedBytes -= size
            if app.isPaused, app.linkQueuedBytes <= configuration.linkQueueBytes / 2 {
                resumable.append(app)
            }
        }
        return bytes
    }

    // MARK: -

    /// The link is gone; the next one is to be learnt anew.
    func forgetLinkOutput() {
        linkLook?.cancel()
        linkLook = nil
        isLinkFull = false
        isLinkUnflushed = false
        pacer = LinkPacer()
    }

    /// For status.
    var linkBytesInFlight: Int {
        linkHandler.map { $0.bytesInChannel + $0.bytesInKernel } ?? 0
    }
}
