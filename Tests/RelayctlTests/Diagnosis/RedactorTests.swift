import Testing

@testable import relayctl

@Suite struct RedactorTests {
    @Test(
        "values of sensitive members are taken out, whatever they are",
        arguments: [
            (#"{"vin":"1FMEU73E96UA12345","rpm":900}"#, #"{"vin": "[redacted]","rpm":900}"#),
            (#"{"gps" : {"a":[1,{"b":"}"}]}, "x":1}"#, #"{"gps": "[redacted]", "x":1}"#),
            (
                #"{"hash_id":51,"y":[{"hashID":"a\"b"}]}"#,
                #"{"hash_id": "[redacted]","y":[{"hashID": "[redacted]"}]}"#
            ),
            (#"["vin","gps"]"#, #"["vin","gps"]"#),
            (#"{"authToken":null}"#, #"{"authToken": "[redacted]"}"#),
            (#"{"vin":"#, #"{"vin": "[redacted]""#),
            (#"{"firstBytes":"00ff","n":7}"#, #"{"firstBytes": "[redacted]","n":7}"#),
            (#"{"first_bytes":"00ff"}"#, #"{"first_bytes": "[redacted]"}"#),
            (
                #"{"name":"vin","value":"x"},{"name":"rpm","value":"900"}"#,
                #"{"name":"vin","value": "[redacted]"},{"name":"rpm","value":"900"}"#
            ),
        ])
    func json(before: String, after: String) {
        var redactor = Redactor()
        #expect(redactor.json(before) == after)
    }

    @Test(
        "a misspelt name hides nothing, and neither does another member",
        arguments: [
            #"{"nmber":"+41 79 123 45 67"}"#, #"{"nmuber":"5551234"}"#, #"{"numbr":5551234}"#,
            #"{"dial":"5551234"}"#, #"{"dial":"079/1234567"}"#, #"{"adressLines":["5551234 St"]}"#,
            #"{"locationNam":"5551234 St"}"#, #"{"device_name":"5551234"}"#,
            #"{"authTokn":"5551234"}"#,
        ])
    func misspelt(json: String) {
        var redactor = Redactor()
        let redacted = redactor.json(json)
        #expect(redactor.count == 1 && !redacted.contains(#/123|79/#), "\(redacted)")
    }

    @Test("what relayd itself says is left as it is")
    func harmless() {
        let harmless = """
            {"schema":1,"app_id":"584421907","appID":"584421907","fullAppID":"584421907",\
            "way_points":true,"version":"10.12.1234","peer":"192.168.101.123:40112","pid":1234567,\
            "at":"2026-11-21T10:31:07.042Z","address":"serial:/dev/ttyUSB0?baud=115200",\
            "message":"function 0x270f, service 0x07, byte 0x5a at byte 1234567",\
            "text":"10:31:07.042  Music  →  request   Show #1234567890  \\"Hello\\"  1234567 B  8 ms",\
            "place":"/etc/relayd/relayd.yaml:12:3","bytes":12345678901,"uuid":"0a1b-22cc",\
            "info":"retry after 5000 ms","value":"67108864","default":"10000000","numbers":3,\
            "spoken":["a"],"detail":"x","region":"EU"}
            """
        var redactor = Redactor()
        // Similar to "number": its value is redacted, too, which is the price.
        let expected = harmless.replacing("\"numbers\":3", with: "\"numbers\": \"[redacted]\"")
        #expect(redactor.json(harmless) == expected)
        #expect(redactor.count == 1)
    }

    @Test("in text, what looks like a VIN, a hash or a position is taken out, and counted")
    func text() {
        var redactor = Redactor()
        let line =
            "VIN 1FMEU73E96UA12345 session 1 hash 0xd410d1c3 latitudeDegrees=48.137 STARTSERVICEACKXY"
        #expect(
            redactor.text(line)
                == "VIN [redacted] session 1 hash [redacted] [redacted] STARTSERVICEACKXY")
        #expect(redactor.count == 3)
    }

    @Test(
        "forms of secrets in lines",
        arguments: [
            (
                "EndService of session 1 carries no hash ID, expected 0x1f",
                "EndService of session 1 carries no hash ID, expected [redacted]"
            ),
            ("expected 0x7a1debef", "expected [redacted]"),
            ("not JSON  24 B  [00 00 00 0a 7b 22]", "not JSON  24 B  [[redacted]]"),
            ("call +41 (0)79 123 45 67 now", "call [redacted] now"),
            ("call 0041791234567, 079 123 45 67", "call [redacted], [redacted]"),
            ("call 555-123-4567.", "call [redacted]."),
            ("at 48.137154, 11.576124 in", "at [redacted] in"),
            (
                "Maps  →  request   SendLocation #4   \"Home of Ann\"  80 B",
                "Maps  →  request   SendLocation #4   \"[redacted]\"  80 B"
            ),
            (
                "Maps  ←  notify    OnHashChange      a1b2c3  20 B",
                "Maps  ←  notify    OnHashChange      [redacted]  20 B"
            ),
            (
                "OnVehicleData  rpm=900 vin=WHATEVER speed=3",
                "OnVehicleData  rpm=900 vin=[redacted] speed=3"
            ),
            (
                "OnVehicleData  gps=48.13743,11.57549 rpm=900 tripGPS=48.13743,11.57549",
                "OnVehicleData  gps=[redacted] rpm=900 tripGPS=[redacted]"
            ),
            ("usb:04e8:6860?serial=R58M&x=1", "usb:04e8:6860?serial=[redacted]&x=1"),
            (
                #"journal: {"text":"hash 0x1\n0791234567","vin":"x"}"#,
                #"journal: {"text":"hash [redacted]\n[redacted]","vin": "[redacted]"}"#
            ),
            ("GPS 1 2 3 4 5 6 7 8", "GPS 1 2 3 4 5 6 7 8"),
            ("", ""),
        ])
    func forms(before: String, after: String) {
        var redactor = Redactor()
        #expect(redactor.text(before) == after)
    }

    @Test(
        "what a message says in words goes, with and without parameters; other messages stay",
        arguments: [true, false])
    func words(leavesOutParameters: Bool) {
        let line = #"{"n":3,"kind":"request","message":"Show \"hi\"","problems":[{"message":"m"}]}"#
        let reason = #"{"reason":{"code":"absent","message":"no such device"}}"#
        var redactor = Redactor(leavesOutParameters: leavesOutParameters)
        #expect(
            redactor.json(line + "\n" + reason)
                == #"{"n":3,"kind":"request","message": "[redacted]","problems":[{"message":"m"}]}"#
                + "\n" + reason)
    }

    @Test("without parameters, what an app was told of the vehicle goes too; options stay")
    func told() {
        let page =
            #"{"vehicle_data":[{"name":"rpm","value":"900"},{"name":"vin","value":"x"}],"#
            + #""options":[{"name":"apps.maximum","value":"64"}]}"#
        var redactor = Redactor(leavesOutParameters: true)
        #expect(
            redactor.json(page)
                == #"{"vehicle_data":[{"name":"rpm","value": "[redacted]"},"#
                + #"{"name":"vin","value": "[redacted]"}],"#
                + #""options":[{"name":"apps.maximum","value":"64"}]}"#)
        var lenient = Redactor()
        #expect(lenient.json(page).contains(#""name":"rpm","value":"900""#))
    }
}
