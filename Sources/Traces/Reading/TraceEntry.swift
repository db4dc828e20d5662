package import RelayCore

/// One packet of a trace, decoded.
package struct TraceEntry: Sendable {
    package var time: WallTime
    package var content: Content
    /// The comments that people added to it.
    package var comments: [String] = []

    package init(time: WallTime, content: Content, comments: [String] = []) {
        (self.time, self.content, self.comments) = (time, content, comments)
    }

    package enum Content: Sendable {
        /// - Parameters:
        ///   - omitted: Bytes of the payload that were not recorded.
        ///   - isMasked: Whether values were overwritten.
        case frame(TappedFrame, omitted: Int, isMasked: Bool)
        /// Bytes that were not a frame.
        case bytes(TappedBytes)
        case record(TraceRecord)
    }
}

extension TraceEntry {
    /// The entry as it passed the tap; nil if it did not come from the tap.
    package var item: TapItem? {
        switch content {
        case .frame(let frame, _, _): .frames([frame])
        case .bytes(let run): .bytes(run)
        case .record(let record):
            switch record {
            case .linkOpened(let number, let address):
                .linkOpened(number: number, address: address, time: time)
            case .linkClosed(let reason): .linkClosed(reason: reason, time: time)
            case .appConnected(let app, let peer): .appConnected(app, peer: peer, time: time)
            case .appLeft(let app, let reason): .appClosed(app, reason: reason, time: time)
            case .startSent(let app): .session(.startSent, app, time: time)
            case .sessionEnded(let app, let session): .session(.ended(session), app, time: time)
            case .serviceEnded(let app, let session, let service):
                .session(.serviceEnded(service, session: session), app, time: time)
            case .gap(let frames, let bytes): .missed(frames: frames, bytes: bytes)
            case .trace, .notice, .advice, .mark, .end, .other: nil
            }
        }
    }
}

extension TraceEntry {
    package var frame: TappedFrame? {
        if case .frame(let tapped, _, _) = content { tapped } else { nil }
    }

    /// The app whose connection the entry concerns.
    package var app: AppID? {
        switch content {
        case .frame(let tapped, _, _): tapped.app
        case .bytes(let run): run.app
        case .record(let record): record.app
        }
    }
}
