// Tests/Fixtures/filters.json: the messages that filters show, and the mistakes in other filters. The browser
// test checks the dashboard against the same table.

import Foundation
import MessageFilters
import NIOCore
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic

struct FilterTable: Decodable {
    struct Case: Decodable, CustomStringConvertible {
        var filter: String
        /// Numbers of the messages, in order.
        var shows: [UInt64]

        var description: String { filter }
    }

    struct Mistake: Decodable, CustomStringConvertible {
        var filter: String
        var start: Int
        var end: Int
        var message: String

        var description: String { filter }
    }

    var cases: [Case]
    var mistakes: [Mistake]

    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures")
    /// The messages of `story` as the control API returns them.
    static let messagesFile = folder.appending(path: "filter-messages.jsonl")
    static let names = FilterNames(functions: FunctionID.all.map(\.name))

    static func read() throws -> FilterTable {
        try JSONDecoder().decode(
            FilterTable.self, from: Data(contentsOf: folder.appending(path: "filters.json")))
    }

    /// Radio (#1) registers, shows something, fails, uploads a file slowly and asks where it is;
    /// Maps (#2) says hello and waits in vain; frames are missed; the link breaks.
    static var story: MessageRing {
        var feed = TrafficFeed()
        feed.receive(.linkOpened(number: 1, address: "sim:", time: feed.time))
        feed.receive(.appConnected(feed.app, peer: "127.0.0.1:40000", time: feed.time))
        register(&feed, "Radio Südwest", "radio-1")
        feed.milliseconds += 8
        feed.response(.registerAppInterface, 1)
        feed.notification(
            .onHMIStatus,
            #"{"hmiLevel":"FULL","audioStreamingState":"AUDIBLE","systemContext":"MAIN"}"#)
        feed.request(
            .show, 2,
            #"{"mainField1":"Keep right","mainField2":"at the \"old\" mill","#
                + #""softButtons":[{"softButtonID":7,"text":"OK","type":"TEXT","#
                + #""systemAction":"DEFAULT_ACTION"},{"softButtonID":8,"text":"Later","#
                + #""type":"TEXT","systemAction":"DEFAULT_ACTION"}]}"#)
        feed.milliseconds += 5
        feed.response(.show, 2)
        feed.request(.show, 3, #"{"mainField1":"Hello","mainField2":"","alignment":"MIDDLE"}"#)
        feed.request(.getVehicleData, 4, #"{"gps":true,"speed":true}"#)
        feed.milliseconds += 4
        feed.response(
            .show, 3,
            #"{"success":false,"resultCode":"INVALID_DATA","info":"alignment is wrong"}"#)
        feed.response(
            .getVehicleData, 4,
            #"{"success":true,"resultCode":"SUCCESS","speed":12.50,"#
                + #""gps":{"latitudeDegrees":47.39,"longitudeDegrees":8.49}}"#)
        feed.rpc(
            .fromApp, .request, .putFile, 5,
            #"{"syncFileName":"icon.png","fileType":"GRAPHIC_PNG"}"#, bulk: TrafficFeed.image)
        feed.milliseconds += 1500
        feed.response(.putFile, 5)
        feed.heartbeat()
        (feed.app, feed.session) = (AppID(rawValue: 2), 2)
        register(&feed, "Maps", "maps-1")
        feed.milliseconds += 9
        feed.response(.registerAppInterface, 1, #"{"success":true,"resultCode":"WARNINGS"}"#)
        feed.request(.readDID, 9, #"{"ecuName":5,"didLocation":[1,2]}"#)
        feed.milliseconds += 60_000
        feed.pass()
        feed.receive(.missed(frames: 3, bytes: 300))
        feed.receive(.linkClosed(reason: "cable pulled", time: feed.time))
        return feed.ring
    }

    private static func register(_ feed: inout TrafficFeed, _ name: String, _ appID: String) {
        feed.request(
            .registerAppInterface, 1,
            #"{"syncMsgVersion":{"majorVersion":7,"minorVersion":0},"appName":"\#(name)","#
                + #""appID":"\#(appID)","isMediaApplication":false,"languageDesired":"EN-US","#
                + #""hmiDisplayLanguageDesired":"EN-US"}"#)
    }

    /// The story as lines of JSON.
    static var lines: String {
        var formatter = MessageFormatter(.json)
        return story.messages(after: 0, limit: .max).entries.map { entry in
            var buffer = ByteBuffer()
            formatter.append(entry, to: &buffer)
            return String(buffer: buffer) + "\n"
        }.joined()
    }
}
