// From a user's words to an RPC: types according to the specification, and messages about what does not fit.

import NIOCore
import RelayTesting
import Testing

@testable import SDLProtocol

private func build(
    _ name: String, _ assignments: [String] = [], type: RPCType? = nil, unchecked: Bool = false,
    json: String? = nil, from sender: RPCSender = .app, negotiated: SDLVersion? = nil
) throws -> BuiltRPC {
    let parameters = try json.map { try JSONObject(ByteBuffer(string: $0)) }
    return try RPCBuilder(.builtIn).build(
        .init(
            name, type: type, parameters: parameters,
            assignments: try assignments.map { try RPCAssignment($0) }, isUnchecked: unchecked),
        from: sender, negotiated: negotiated)
}

private func problem(
    _ name: String, _ assignments: [String], type: RPCType? = nil, unchecked: Bool = false,
    from sender: RPCSender = .app
) -> String {
    do {
        let built = try build(name, assignments, type: type, unchecked: unchecked, from: sender)
        return "built: \(built.json)"
    } catch {
        return "\(error)"
    }
}

@Suite("An RPC is built from what somebody writes")
struct RPCBuilderTests {
    @Test(
        "values get the type that the specification says",
        arguments: [
            ("Show", ["mainField1=Hello"], #"{"mainField1":"Hello"}"#),
            // A String stays a String, whatever it looks like.
            (
                "Show", ["mainField1=5", "mainField2=true"],
                #"{"mainField1":"5","mainField2":"true"}"#
            ),
            // Empty on purpose.
            ("Show", ["mainField1="], #"{"mainField1":""}"#),
            ("Show", ["softButtons=[]"], #"{"softButtons":[]}"#),
            ("Show", ["mainField1=a=b"], #"{"mainField1":"a=b"}"#),
            (
                "Show", ["graphic.value=icon.png", "graphic.imageType=DYNAMIC"],
                #"{"graphic":{"value":"icon.png","imageType":"DYNAMIC"}}"#
            ),
            (
                "Show",
                [
                    "softButtons[0].type=TEXT", "softButtons[0].text=Go",
                    "softButtons[0].softButtonID=7", "softButtons[0].systemAction=DEFAULT_ACTION",
                ],
                #"{"softButtons":[{"type":"TEXT","text":"Go","softButtonID":7,"#
                    + #""systemAction":"DEFAULT_ACTION"}]}"#
            ),
            (
                "Alert", ["alertText1=Hi", "duration=5000", "playTone=true"],
                #"{"alertText1":"Hi","duration":5000,"playTone":true}"#
            ),
            ("Alert", ["duration:=5000"], #"{"duration":5000}"#),
            (
                "SubscribeButton", ["buttonName=OK"], #"{"buttonName":"OK"}"#
            ),
        ])
    func types(name: String, assignments: [String], json: String) throws {
        let built = try build(name, assignments)
        #expect(built.json == json)
        #expect(built.type == .request && built.name == name)
    }

    @Test("assignments are added to whole parameters, and replace what stands there")
    func merged() throws {
        let built = try build(
            "Show", ["mainField1=new", "graphic.value=b.png"],
            json: #"{"mainField1":"old","graphic":{"value":"a.png","imageType":"STATIC"}}"#)
        #expect(
            built.json
                == #"{"mainField1":"new","graphic":{"value":"b.png","imageType":"STATIC"}}"#)
    }

    @Test(
        "what does not fit is told with the parameter, the type and what is allowed",
        arguments: [
            (
                "Shaw", [],
                "Shaw is no request or notification of RPC specification 8.0.0; did you mean Show?"
            ),
            ("show", [], "did you mean Show?"),
            (
                "Show", ["mainFeild1=x"],
                "unknown parameter mainFeild1 of Show, did you mean mainField1?"
            ),
            ("ListFiles", ["x=1"], "unknown parameter x of ListFiles; it has none"),
            ("Alert", ["duration=soon"], "duration is \"soon\", expected an Integer"),
            ("Alert", ["duration="], "duration is empty, expected an Integer"),
            ("Alert", ["duration=5.5"], "duration is 5.5, expected an Integer from 3000 to 10000"),
            ("Alert", ["duration=5"], "duration is 5, expected an Integer from 3000 to 10000"),
            ("Alert", ["playTone=yes"], "playTone is \"yes\", expected true or false"),
            ("Alert", ["softButtons=x"], "softButtons is \"x\", expected an array"),
            ("Alert", ["softButtons.text=x"], "softButtons is an array; expected an index"),
            ("Alert", ["duration[0]=5"], "duration is not an array; expected no index"),
            ("Alert", ["duration.x=5"], "duration is an Integer and has no parameters of its own"),
            ("Alert", ["softButtons[1].text=x"], "does not fit what was given before"),
            ("Show", ["graphic=icon"], "expected a struct Image"),
            (
                "Show", ["graphic.valu=icon"],
                "unknown parameter valu of graphic (Image), did you mean value?"
            ),
            ("SubscribeButton", ["buttonName=PLAY_PAUS"], "did you mean PLAY_PAUSE?"),
            (
                "SubscribeButton", ["buttonName=QQQQQQQQQQQ"],
                "ButtonName has OK, PLAY_PAUSE, SEEKLEFT"
            ),
            ("SubscribeButton", [], "mandatory parameter buttonName is missing; ButtonName has OK"),
            (
                "AddCommand", [],
                "mandatory parameter cmdID is missing, expected an Integer from 0 to"
            ),
            ("Alert", ["duration:=[1"], "the value of duration is not JSON"),
        ])
    func refused(name: String, assignments: [String], words: String) {
        let told = problem(name, assignments)
        #expect(told.contains(words), "\(told)")
    }

    @Test(
        "an empty String is refused where the specification wants one character, and sent unchecked"
    )
    func emptyOnPurpose() throws {
        #expect(
            problem("PutFile", ["syncFileName=", "fileType=BINARY"])
                .contains("syncFileName has 0 characters"))
        let built = try build("PutFile", ["syncFileName=", "fileType=BINARY"], unchecked: true)
        #expect(built.json == #"{"syncFileName":"","fileType":"BINARY"}"#)
    }

    @Test(
        "unchecked, everything is sent that can be written",
        arguments: [
            ("Alert", ["duration=soon"], #"{"duration":"soon"}"#),
            ("Alert", ["duration=5"], #"{"duration":5}"#),
            (
                "Alert", ["nonsense=5", "more=x", "flag=true"],
                #"{"nonsense":5,"more":"x","flag":true}"#
            ),
            ("Alert", ["duration.x[0]=5"], #"{"duration":{"x":[5]}}"#),
            ("Alert", ["nothing:=null"], #"{"nothing":null}"#),
            ("0x8099", ["x=1"], #"{"x":1}"#),
        ])
    func unchecked(name: String, assignments: [String], json: String) throws {
        let built = try build(name, assignments, unchecked: true)
        #expect(built.json == json)
        if name == "0x8099" { #expect(built.function.rawValue == 0x8099) }
    }

    @Test("a number is no function where the specification is asked")
    func number() {
        #expect(problem("0x8099", []).contains("0x8099 is no request"))
        #expect(problem("0x80990000", [], unchecked: true).contains("is no request"))
    }

    @Test("what the session's version does not know is remarked, and sent")
    func versions() throws {
        let built = try build(
            "Show", ["templateConfiguration.template=MEDIA"], negotiated: SDLVersion(5, 0, 0))
        #expect(built.remarks.map(\.rule) == [.newerThanNegotiated])
    }

    @Test("a head unit's words are checked as strictly as an app's")
    func fromAccessory() throws {
        let built = try build(
            "OnButtonPress", ["buttonName=OK", "buttonPressMode=SHORT"], from: .accessory)
        #expect(built.type == .notification && built.function == .onButtonPress)
        #expect(
            problem("OnButtonPress", ["buttonName=OK"], from: .accessory)
                .contains("mandatory parameter buttonPressMode is missing"))
        #expect(
            problem(
                "OnButtonPress", ["buttonName=OK", "buttonPressMode=SHORT", "x=1"],
                from: .accessory
            ).contains("unknown parameter x"))
    }

    @Test("vehicle data may have parameters of the car's maker")
    func vehicleData() throws {
        #expect(
            try build("OnVehicleData", ["speed=88.5", "turbo=3"], from: .accessory).json
                == #"{"speed":88.5,"turbo":3}"#)
    }
}

@Suite("All functions of the specification are built from the specification alone")
struct WholeSpecificationTests {
    @Test(
        "all 152, with their mandatory parameters and with all there are", arguments: [false, true])
    func all(withEverything all: Bool) throws {
        let functions = RPCCatalogue.builtIn.functions
        #expect(functions.count == 152)
        let builder = RPCBuilder(.builtIn)
        var values = 0
        for function in functions {
            for sender in [RPCSender.app, .accessory] {
                let given = try function.exampleAssignments(all: all).map {
                    try RPCAssignment($0)
                }
                values += given.count
                let built = try builder.build(
                    .init(function.name, type: function.type, assignments: given), from: sender)
                #expect(built.function == function.id && built.type == function.type)
                // The message on the wire is read back as intended.
                let frame = Frame.rpc(
                    version: 5, sessionID: 1, messageID: 1, type: built.type,
                    functionID: built.function.rawValue, correlationID: 1, json: built.json)
                let message = try RPCMessage(Message(single: frame))
                let problems = RPCValidator.builtIn.problems(in: message, from: sender)
                #expect(
                    problems.allSatisfy { $0.rule == .deprecated },
                    "\(function.name): \(problems)")
            }
        }
        #expect(values > 300)
    }

    @Test("without its mandatory parameters none is built, and each error names the first of them")
    func mandatory() throws {
        let builder = RPCBuilder(.builtIn)
        var refused = 0
        for function in RPCCatalogue.builtIn.functions {
            let mandatory = function.parameters.filter {
                $0.isMandatory && $0.lifetime.until == nil
            }
            guard let first = mandatory.first else { continue }
            let error = try #require(throws: RPCBuildError.self, "\(function.name)") {
                try builder.build(.init(function.name, type: function.type), from: .app)
            }
            #expect("\(error)".contains("mandatory parameter \(first.name) is missing"), "\(error)")
            refused += 1
        }
        #expect(refused > 100)
    }
}

@Suite("Hostile words for parameters")
struct HostileAssignmentTests {
    @Test(
        "what is no path or has no value is refused in one printable line",
        arguments: [
            "", "=", "=x", "a", "a.", ".a=1", "a..b=1", "a[=1", "a[]=1", "a[-1]=1", "a[x]=1",
            "a[99999]=1", "a[123456]=1", "a]=1", "a[1=1", "a b=1", "a[0]b=1", ":=1",
            "\u{1b}[31m=1 2", String(repeating: "a.", count: 40) + "a=1",
            String(repeating: "[0]", count: 10) + "=1",
        ])
    func paths(text: String) {
        do {
            let assignment = try RPCAssignment(text)
            // A valid path is not necessarily a parameter.
            #expect(text == "\u{1b}[31m=1 2", "\(assignment)")
            _ = problem("Show", [text])
        } catch {
            let line = "\(error)"
            #expect(line.unicodeScalars.allSatisfy(PrintableText.isPrintable), "\(line)")
            #expect(line.count < 300)
        }
    }

    @Test("any bytes as a value survive the way through JSON", arguments: [true, false])
    func values(isUnchecked: Bool) throws {
        for text in ["\u{0}\u{1}\n\t\"\\", "é𝄞", "}{][,:", "null", "\u{7f}\u{2028}"] {
            let built = try build("Show", ["mainField1=\(text)"], unchecked: isUnchecked)
            let object = try JSONObject(ByteBuffer(string: built.json))
            if !isUnchecked || text != "null" {
                #expect(object.string("mainField1") == text)
            }
        }
    }

    @Test("random words never make it crash, and what is built is JSON")
    func random() throws {
        var state: UInt64 = 18
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let pieces = [
            "softButtons", "graphic", ".", "[0]", "[1]", "=", ":=", "value", "{", "}", "[", "]",
            "\"", "1", "-", "e9", "null", "true", ",", "mainField1", "TEXT", "\u{0}", " ",
        ]
        var builtCount = 0
        for _ in 0..<20_000 {
            let words = (0..<1 + next(3)).map { _ in
                (0..<1 + next(8)).map { _ in pieces[next(pieces.count)] }.joined()
            }
            guard let built = try? build("Show", words, unchecked: next(2) == 0) else { continue }
            builtCount += 1
            _ = try JSONObject(ByteBuffer(string: built.json))
        }
        #expect(builtCount > 100)
    }

    @Test("deep and wide values are refused, not followed")
    func deep() {
        let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        #expect(problem("Show", ["softButtons:=\(deep)"]).contains("not JSON"))
        let unclosed = String(repeating: "{\"a\":", count: 5000)
        #expect(problem("Show", ["graphic:=\(unclosed)"]).contains("not JSON"))
    }
}
