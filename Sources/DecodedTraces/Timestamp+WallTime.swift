package import ControlAPI
package import RelayCore

extension Timestamp {
    package init(_ time: WallTime) {
        self.init(millisecondsSince1970: time.nanoseconds / 1_000_000)
    }
}
