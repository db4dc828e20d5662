// RPC messages byte by byte, for the tests of this folder.

import NIOCore
import SDLProtocol

/// Frames as hex: the header in its four-byte fields, then the payload.
enum RPCExamples {
    /// v5 single frame: response ListFiles, correlation ID 3.
    static let listFilesResponse = """
        51070001 00000049 00000005
        10 00 00 22 00 00 00 03 00 00 00 3d 7b 22 73 75 63 63 65 73 73 22 3a 74
        72 75 65 2c 22 72 65 73 75 6c 74 43 6f 64 65 22 3a 22 53 55 43 43 45 53
        53 22 2c 22 73 70 61 63 65 41 76 61 69 6c 61 62 6c 65 22 3a 31 30 30 30
        7d
        """
    /// v5 single frame: request RegisterAppInterface.
    static let registerRequest = """
        51070001 000000bc 00000001
        00 00 00 01 00 00 00 01 00 00 00 b0 7b 22 73 79 6e 63 4d 73 67 56 65 72
        73 69 6f 6e 22 3a 7b 22 6d 61 6a 6f 72 56 65 72 73 69 6f 6e 22 3a 38 2c
        22 6d 69 6e 6f 72 56 65 72 73 69 6f 6e 22 3a 30 7d 2c 22 61 70 70 4e 61
        6d 65 22 3a 22 42 65 6e 63 68 22 2c 22 69 73 4d 65 64 69 61 41 70 70 6c
        69 63 61 74 69 6f 6e 22 3a 66 61 6c 73 65 2c 22 6c 61 6e 67 75 61 67 65
        44 65 73 69 72 65 64 22 3a 22 45 4e 2d 55 53 22 2c 22 68 6d 69 44 69 73
        70 6c 61 79 4c 61 6e 67 75 61 67 65 44 65 73 69 72 65 64 22 3a 22 45 4e
        2d 55 53 22 2c 22 61 70 70 49 44 22 3a 22 34 37 31 31 22 7d
        """
    /// v5 single frame: notification OnHMIStatus.
    static let onHMIStatus = """
        51070001 0000005a 00000002
        20 00 80 00 00 00 00 00 00 00 00 4e 7b 22 68 6d 69 4c 65 76 65 6c 22 3a
        22 46 55 4c 4c 22 2c 22 61 75 64 69 6f 53 74 72 65 61 6d 69 6e 67 53 74
        61 74 65 22 3a 22 4e 4f 54 5f 41 55 44 49 42 4c 45 22 2c 22 73 79 73 74
        65 6d 43 6f 6e 74 65 78 74 22 3a 22 4d 41 49 4e 22 7d
        """
    /// v5 single frame on the bulk service: PutFile with 8 bulk bytes.
    static let putFile = """
        510f0001 0000005a 00000009
        00 00 00 20 00 00 00 09 00 00 00 46 7b 22 73 79 6e 63 46 69 6c 65 4e 61
        6d 65 22 3a 22 69 63 6f 6e 22 2c 22 66 69 6c 65 54 79 70 65 22 3a 22 47
        52 41 50 48 49 43 5f 50 4e 47 22 2c 22 6f 66 66 73 65 74 22 3a 30 2c 22
        6c 65 6e 67 74 68 22 3a 38 7d 89 50 4e 47 0d 0a 1a 0a
        """
    /// v5 single frame on the bulk service: OnAudioPassThru with 4 bulk bytes.
    static let onAudioPassThru = """
        510f0001 00000012 0000000b
        20 00 80 09 00 00 00 00 00 00 00 02 7b 7d 00 10 00 20
        """
    /// v1 single frame: request UnregisterAppInterface in its JSON wrapper.
    static let unregisterV1 = """
        11070001 0000004f
        7b 22 72 65 71 75 65 73 74 22 3a 7b 22 6e 61 6d 65 22 3a 22 55 6e 72 65
        67 69 73 74 65 72 41 70 70 49 6e 74 65 72 66 61 63 65 22 2c 22 63 6f 72
        72 65 6c 61 74 69 6f 6e 49 44 22 3a 36 2c 22 70 61 72 61 6d 65 74 65 72
        73 22 3a 7b 7d 7d 7d
        """
    /// v5 first frame, announcing 28 bytes in 3 consecutive frames, and those three.
    static let multiFrame = """
        52070001 00000008 00000006
        00 00 00 1c 00 00 00 03
        53070101 0000000c 00000006
        10 00 00 22 00 00 00 03 00 00 00 10
        53070201 0000000c 00000006
        7b 22 73 75 63 63 65 73 73 22 3a 74
        53070001 00000004 00000006
        72 75 65 7d
        """
    /// v5 control-service single frame: SendHandshakeData with 5 TLS bytes.
    static let handshake = """
        51000001 00000011 0000000c
        00 00 00 01 00 00 00 00 00 00 00 00 16 03 01 00 05
        """
    /// v5 control-service single frame: SendInternalError notification.
    static let internalError = """
        51000001 00000028 0000000d
        20 00 00 02 00 00 00 00 00 00 00 1c 7b 22 69 64 22 3a 32 35 35 2c 22 74
        65 78 74 22 3a 22 69 6e 74 65 72 6e 61 6c 22 7d
        """

    static func bytes(_ hex: String) -> ByteBuffer {
        let digits = hex.compactMap(\.hexDigitValue)
        return ByteBuffer(
            bytes: stride(from: 0, to: digits.count - 1, by: 2).map {
                UInt8(digits[$0] << 4 | digits[$0 + 1])
            })
    }

    static func frames(_ hex: String) throws -> [Frame] {
        var decoder = FrameDecoder(rules: .fromAccessory(), recovery: .fail)
        decoder.append(bytes(hex))
        var frames: [Frame] = []
        while let frame = try decoder.next() { frames.append(frame) }
        return frames
    }

    static func message(_ hex: String) throws -> Message {
        Message(single: try frames(hex)[0])
    }
}
