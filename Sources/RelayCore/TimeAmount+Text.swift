// Times as people read them.

import NIOCore

extension TimeAmount {
    var secondsAsNumber: Double { Double(nanoseconds) / 1e9 }

    /// As people write it: 20, 0.5.
    var seconds: String {
        let value = Double(nanoseconds) / 1e9
        return value == value.rounded() ? "\(Int(value))" : "\(value)"
    }
}
