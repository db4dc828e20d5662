// Frames as the tap shows them, for dialogues that no router takes part in.

package import RelayCore
package import SDLProtocol

extension TappedFrame {
    /// A frame on its way past the tap. An RPC StartServiceACK opens a session, unless it is
    /// encrypted: then it protects one.
    package static func seen(
        _ frame: Frame, _ direction: Direction, app: AppID?, time: WallTime,
        fate: FrameFate = .forwarded
    ) -> TappedFrame {
        let isGrant =
            frame.controlType == .startServiceACK && frame.service == .rpc && app != nil
            && (fate == .forwarded || fate == .amended)
        return TappedFrame(
            frame: frame, direction: direction, app: app, time: time, fate: fate,
            grant: isGrant ? (frame.isEncrypted ? .protects : .opens) : nil)
    }
}
