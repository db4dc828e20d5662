// How urgent a frame is on its way to the accessory; used by `LinkScheduler`.

import SDLProtocol

/// The order in which services go when the link is slow (SDL protocol spec, "Services": the lower
/// number is the more important one). Not `ServiceType` itself, whose numbers (0, 7, 10, 11, 15) cannot
/// index tables.
enum TrafficClass: Int, CaseIterable {
    case control
    case rpc
    case audio
    case video
    case bulk

    static let count = allCases.count

    /// sdl_core counts a session's frames per second, except those of audio and video.
    var isCounted: Bool { self != .audio && self != .video }

    init(_ service: ServiceType) {
        self =
            switch service {
            case .control: .control
            case .rpc: .rpc
            case .audio: .audio
            case .video: .video
            case .bulk: .bulk
            }
    }
}
