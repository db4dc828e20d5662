/// A number of frames, and their bytes.
struct FrameSum {
    private(set) var frames = 0
    private(set) var bytes = 0

    mutating func count(_ size: Int) {
        frames += 1
        bytes += size
    }

    /// Bytes of no frame.
    mutating func bytes(_ count: Int) {
        bytes += count
    }
}
