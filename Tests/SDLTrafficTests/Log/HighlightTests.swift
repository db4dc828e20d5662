// The parameters that an RPC's line shows, and how.

import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing

@Suite struct HighlightTests {
    private func line(_ body: (inout Dialogue) -> Void, validated: Bool = false) throws -> String {
        var talk = Dialogue(validator: validated ? .builtIn : nil)
        body(&talk)
        return try #require(talk.lastLine)
    }

    @Test(
        "vehicle data shows its values, a position its coordinates",
        arguments: [
            (
                #"{"gps":{"longitudeDegrees":11.5754932,"latitudeDegrees":-48.137431,"speed":1}}"#,
                "gps=-48.13743,11.57549"
            ),
            (
                #"{"gps":{"longitudeDegrees":8,"latitudeDegrees":4.813743921e1},"rpm":900}"#,
                "gps=4.81374e1,8 rpm=900"
            ),
            (
                #"{"gps":{"longitudeDegrees":8.1,"altitude":3}}"#,
                "gps={longitudeDegrees=8.1 altitude=3}"
            ),
            (
                #"{"gps":{"longitudeDegrees":"8.1","latitudeDegrees":{"a":1}}}"#, "gps={…},8.1"
            ),
            (
                #"{"tirePressure":{"pressureTelltale":"OFF","leftFront":{"status":"LOW"},"rightFront":{}}}"#,
                "tirePressure={pressureTelltale=OFF leftFront={…} …}"
            ),
            (
                #"{"fuelRange":[{"type":"GASOLINE"}],"bodyInformation":{},"vin":"WHATEVER","x":true}"#,
                "fuelRange=[…] bodyInformation={} vin=WHATEVER x=true"
            ),
            (
                #"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}"#, "a=1 b=2 c=3 d=4 e=5 f=6 …"
            ),
        ])
    func vehicleData(json: String, shown: String) throws {
        let notification = try line { $0.notification(.onVehicleData, json) }
        #expect(notification.contains("OnVehicleData                \(shown)  "), "\(notification)")
        let members = json.dropFirst()
        let answer = try line {
            $0.request(.getVehicleData, 3)
            $0.response(
                .getVehicleData, 3,
                #"{"success":true,"resultCode":"SUCCESS","info":"i",\#(members)"#)
        }
        #expect(answer.contains("SUCCESS  \(shown)  "), "\(answer)")
    }

    @Test("no line of vehicle data looks like a line of JSON") func noJSON() throws {
        let line = try line {
            $0.notification(.onVehicleData, #"{"gps":{"a":{"b":1}},"x":["{\"y\":1}"]}"#)
        }
        #expect(!line.contains("{\""))
    }

    @Test(
        "Speak shows what is said first",
        arguments: [
            (#"{"ttsChunks":[{"text":"Hello","type":"TEXT"}]}"#, #""Hello""#),
            (
                #"{"ttsChunks":[{"text":"Turn \u00e9 left","type":"TEXT"},{"text":"b"}]}"#,
                #""Turn é left" +1 chunk"#
            ),
            (#"{"ttsChunks":[{"text":"a"},{},{}]}"#, #""a" +2 chunks"#),
            (#"{"ttsChunks":[{"type":"TEXT"}]}"#, "1 chunk"),
            (#"{"ttsChunks":[7,8]}"#, "2 chunks"),
        ])
    func speak(json: String, shown: String) throws {
        let line = try line { $0.request(.speak, 1, json) }
        #expect(line.contains("Speak #1                     \(shown)  "), "\(line)")
    }

    @Test(
        "a media clock shows from when to when it runs",
        arguments: [
            (
                #"{"updateMode":"COUNTUP","startTime":{"hours":0,"minutes":0,"seconds":7},"#
                    + #""endTime":{"hours":1,"minutes":3,"seconds":12}}"#,
                "COUNTUP 0:00:07 to 1:03:12"
            ),
            (#"{"updateMode":"PAUSE"}"#, "PAUSE"),
            (#"{"updateMode":"COUNTUP","startTime":{"minutes":75}}"#, "COUNTUP 0:75:00"),
            (
                #"{"updateMode":"COUNTUP","startTime":{"hours":-1},"endTime":"x"}"#, "COUNTUP"
            ),
        ])
    func clock(json: String, shown: String) throws {
        let line = try line { $0.request(.setMediaClockTimer, 1, json) }
        #expect(line.contains("SetMediaClockTimer #1        \(shown)  "), "\(line)")
    }

    @Test("of several mistakes the worst is told, and how many more there are") func mistakes()
        throws
    {
        let one = try line(
            {
                $0.request(.show, 1, #"{"alignment":"MIDDLE"}"#)
            }, validated: true)
        #expect(one.contains("⚠ ") && !one.contains(" more"))
        let three = try line(
            {
                $0.request(.show, 1, #"{"alignment":"MIDDLE","mainField1":12,"mainField2":true}"#)
            }, validated: true)
        #expect(three.hasSuffix(" +2 more"), "\(three)")
    }
}
