package import Logging

/// A metadata key of relayd's own messages: one spelling each, so that journald fields and JSON
/// members can be searched for.
package enum LogKey: String, CaseIterable {
    /// The accessory's address.
    case accessory
    /// Which of the accessory's links, counted from 1.
    case link
    /// An app connection, `#` and its number.
    case app
    /// An app connection's far end.
    case peer
    /// A session's number on the link.
    case session
    /// A listening or control address.
    case address
    /// The configuration file in use.
    case config
    /// Why something ended.
    case reason
    /// A count that the message is about.
    case count
}

extension Logger {
    /// Metadata under one of relayd's own keys.
    package subscript(_ key: LogKey) -> Logger.Metadata.Value? {
        get { self[metadataKey: key.rawValue] }
        set { self[metadataKey: key.rawValue] = newValue }
    }
}
