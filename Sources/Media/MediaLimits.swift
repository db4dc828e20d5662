/// Limits on memory and files for extracted media, whatever an app sends.
package enum MediaLimits {
    /// One H.264 unit. A key frame of 1080p at the highest rates of level 4 has some 500 KB.
    package static let maximumUnitBytes = 4 << 20
    /// One picture with the units before it.
    package static let maximumPictureBytes = 8 << 20
    /// Incomplete units and pictures, in all streams together. One stream alone stays below it: it has at
    /// most one unit and one picture.
    package static let maximumHeldBytes = 64 << 20
    /// Units in one picture: one for each row of macroblocks of 4K would be 135.
    package static let maximumPictureUnits = 4096
    /// Parameter sets kept of each kind: streams have one or two, the standard allows 32 and 256.
    package static let maximumParameterSets = 32
    /// One parameter set: real ones have less than 100 bytes.
    package static let maximumParameterSetBytes = 4096
    /// The samples of one WAV file, whose sizes have 32 bits: 37 hours at 16 kHz and 16 bits.
    package static let maximumSoundBytes = Int(UInt32.max) - 65_536
    /// One uploaded file; offsets go up to 2,000,000,000 (MOBILE_API, "PutFile").
    package static let maximumUploadBytes = 2_000_000_000
    /// Bytes missing before and between the pieces of uploads, in all files together: a file gets the size
    /// that its last piece gives it, and a few bytes must not create many large files.
    package static let maximumHoleBytes = 256 << 20
    /// Any file: nothing is ever written beyond this offset.
    package static let maximumFileBytes = Int(UInt32.max)
    /// Separate ranges of one upload. Apps send pieces in order, so that there is one.
    package static let maximumUploadRanges = 1024
    /// Streams, recordings and uploads that are open at the same time, of each: together they stay below the
    /// 1024 files that a process may have.
    package static let maximumOpen = 128
    /// Apps that are remembered.
    package static let maximumApps = 4096
    /// Requests whose answers are awaited.
    package static let maximumRequests = 4096
    /// Unicode scalars kept of an app's name for a file; the specification allows 255.
    package static let maximumTitleScalars = 512
    /// Bytes of a file's name: Linux allows 255, and numbers and endings need room.
    package static let maximumNameBytes = 160
}
