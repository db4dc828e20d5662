import Testing
import relayctl

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
        ])
    func json(before: String, after: String) {
        var redactor = Redactor()
        #expect(redactor.json(before) == after)
    }

    @Test("in text, what looks like a VIN, a hash or a position is taken out, and counted")
    func text() {
        var redactor = Redactor()
        let line =
            "VIN 1FMEU73E96UA12345 session 1 hash 0xd410d1c3 latitudeDegrees=48.137 STARTSERVICEACKXY"
        #expect(
            redactor.text(line)
                == "VIN [redacted] session 1 [redacted] [redacted] STARTSERVICEACKXY")
        #expect(redactor.count == 3)
    }
}
