import ControlAPI
import Testing

@testable import relayctl

// The text about a recording that was just started or saved.

@Suite("RecordText")
struct RecordTextTests {
    private static func started(_ label: String, asked name: String?) -> String {
        let full = "relayd-20260102-030405006\(label)"
        let time = Timestamp.now
        return RecordText.started(
            RecordReport(
                directory: "/rec",
                recording: .init(name: full, file: "/rec/\(full).pcapng", startedAt: time)),
            asked: name)
    }

    private static func saved(_ label: String, asked name: String?) -> String {
        RecordText.saved(
            .init(
                file: "/rec/relayd-20260102-030405006\(label).pcapng", savedAt: .now, beganAt: .now,
                frames: 1, bytes: 1, reason: "somebody asked for it"), asked: name)
    }

    @Test(
        "a name that was changed is said to be",
        arguments: [("", "äöü"), ("-my-app", "my app"), ("-gr-n", "grün")])
    func changed(label: String, name: String) {
        #expect(Self.started(label, asked: name).contains("\"\(name)\" was changed to fit: "))
        #expect(Self.saved(label, asked: name).contains("\"\(name)\" was changed to fit: "))
    }

    @Test(
        "a name that is used as it is needs no words",
        arguments: [("", nil), ("", ""), ("-freeze", "freeze"), ("-freeze-2", "freeze")])
    func unchanged(label: String, name: String?) {
        #expect(!Self.started(label, asked: name).contains("changed"))
        #expect(!Self.saved(label, asked: name).contains("changed"))
    }
}
