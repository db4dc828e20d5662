// The tables of Sources/ControlAPI/API.md against the types of the answers: every documented field exists,
// every existing field is documented, and lists of words are complete.

import AccessoryLinks
import ControlAPI
import Foundation
import Logging
import OpenXCProtocol
import RelayCore
import RelayTesting
import SDLProtocol
import SDLTraffic
import Testing
import Traces
import relayd

@Suite("The document of the control API and its types")
struct APITypesTests {
    /// Read only once, because there are many types.
    private static let document = Result { try APIDocument() }

    /// A type that is encoded and decoded field by field.
    private struct Kind: Sendable, CustomTestStringConvertible {
        let name: String
        /// Decodes and encodes again; also returns the number of stored properties.
        let roundTrip: @Sendable (Data) throws -> (json: Data, properties: Int)

        init<Value: Codable & SendableMetatype>(_ name: String? = nil, _ type: Value.Type) {
            self.name = name ?? "\(type)"
            roundTrip = { data in
                let value = try JSONDecoder().decode(Value.self, from: data)
                return (try JSONEncoder().encode(value), Mirror(reflecting: value).children.count)
            }
        }

        var testDescription: String { name }
    }

    private static let kinds = [
        Kind(nil, ActionReport.self), Kind(nil, AccessoryReason.self),
        Kind(nil, AccessoryStatus.self), Kind(nil, AdviceList.self), Kind(nil, AdviceNote.self),
        Kind(nil, AdviceReport.self),
        Kind(nil, APIError.self), Kind(nil, AppDeparture.self),
        Kind(nil, AppFunctionReport.self), Kind(nil, AppList.self),
        Kind(nil, AppReport.self), Kind(nil, AppStatus.self), Kind(nil, CapabilityReport.self),
        Kind(nil, ChoiceSetReport.self), Kind(nil, CommandReport.self),
        Kind(nil, ConfigOptionReport.self), Kind(nil, ConfigReport.self),
        Kind(nil, DashboardAccess.self), Kind(nil, DashboardReport.self),
        Kind(nil, DeviceList.self),
        Kind("Error", APIError.Detail.self), Kind(nil, EventList.self), Kind(nil, FileReport.self),
        Kind(nil, FilesReport.self), Kind(nil, FunctionReport.self),
        Kind(nil, HealthReport.self), Kind(nil, HMIStatusReport.self), Kind(nil, LaneReport.self),
        Kind(nil, VehicleLaneReport.self),
        Kind(nil, ControlAPI.LimitHit.self), Kind(nil, LinkStatus.self),
        Kind(nil, LogSettings.self),
        Kind(nil, LogStatus.self), Kind(nil, MenuReport.self), Kind(nil, StreamNote.self),
        Kind(nil, PendingReport.self), Kind(nil, PermissionAnswer.self),
        Kind(nil, PermissionReport.self), Kind(nil, ReasonRequest.self),
        Kind(nil, RecordReport.self), Kind("RecordingReport", RecordReport.Recording.self),
        Kind("FinishedRecording", RecordReport.Finished.self), Kind(nil, RecordRequest.self),
        Kind(nil, MarkRequest.self), Kind("FlightReport", RecordReport.Flight.self),
        Kind("SavedRecording", RecordReport.Saved.self), Kind(nil, SaveReport.self),
        Kind(nil, DiskStall.self),
        Kind(nil, MediaStatus.self),
        Kind(nil, RecordingList.self), Kind("RecordedFile", RecordingList.Item.self),
        Kind(nil, TraceReport.self), Kind("TraceAmount", TraceReport.Amount.self),
        Kind("TraceFileReport", TraceReport.File.self),
        Kind("TraceLinkReport", TraceReport.Link.self),
        Kind("TraceAppReport", TraceReport.App.self),
        Kind("TraceServiceReport", TraceReport.Service.self),
        Kind("TraceNoteReport", TraceReport.Note.self),
        Kind("TraceStream", TraceStatsReport.Stream.self),
        Kind(nil, RegistrationReport.self), Kind(nil, RelaydStatus.self),
        Kind(nil, RelayEvent.self), Kind(nil, ReloadReport.self), Kind(nil, Route.self),
        Kind(nil, RouteList.self), Kind("SerialDevice", SerialSurvey.Device.self),
        Kind(nil, ServerRequest.self), Kind(nil, ServerStatus.self), Kind(nil, ServiceReport.self),
        Kind(nil, SpecificationReport.self), Kind(nil, StatsReport.self),
        Kind(nil, StatusSnapshot.self), Kind(nil, SubMenuReport.self),
        Kind(nil, SubscriptionsReport.self), Kind("USBDevice", USBSurvey.Document.Device.self),
        Kind("USBSurvey", USBSurvey.Document.self), Kind(nil, VehicleDatumReport.self),
        Kind(nil, VehicleReport.self), Kind(nil, VehicleInterface.self),
        Kind(nil, VehicleMeasurement.self), Kind(nil, VehicleCANMessage.self),
        Kind(nil, VehicleDiagnostic.self), Kind(nil, VehicleRequest.self),
        Kind(nil, VehicleSwitch.self), Kind(nil, VehicleClient.self),
        Kind(nil, VehicleSubscription.self), Kind(nil, VehicleLimit.self),
        Kind(nil, VehicleMessageReport.self),
        Kind(nil, VehicleCommandRequest.self), Kind(nil, VehicleCommandReport.self),
        Kind(nil, VehicleDiagnosticRequest.self), Kind(nil, VehicleDiagnosticReport.self),
        Kind(nil, VehicleStreamBody.self), Kind(nil, VehicleRepeatedRequest.self),
        Kind(nil, VehicleWriteRequest.self), Kind(nil, DriveRequest.self),
        Kind(nil, DriveReport.self), Kind(nil, OwnAppRequest.self), Kind(nil, OwnAppReport.self),
        Kind(nil, StreamReport.self),
        Kind(nil, FaultRequest.self), Kind(nil, FaultRuleRequest.self), Kind(nil, FaultList.self),
        Kind(nil, FaultRuleReport.self), Kind(nil, FaultStatus.self),
        Kind(nil, DriveProblem.self), Kind(nil, SpecificationDocument.self),
        Kind(nil, SpecificationFunction.self), Kind(nil, SpecificationStruct.self),
        Kind(nil, SpecificationEnum.self), Kind(nil, SpecificationElement.self),
        Kind(nil, SpecificationParameter.self),
        Kind(nil, ScenarioList.self), Kind(nil, ReadyScenarioReport.self),
        Kind(nil, ScenarioCheckReport.self), Kind(nil, ScenarioProblemReport.self),
        Kind(nil, ScenarioEvent.self), Kind(nil, ScenarioStepReport.self),
        Kind(nil, ScenarioFailureReport.self), Kind(nil, ScenarioDifference.self),
    ]

    /// Types encoded by hand into the buffer; `APIDocumentTests` compare them with answers.
    private static let written: Set<String> = [
        "BulkReport", "Message", "MessageDetail", "MessageList", "Problem", "TraceStatsReport",
    ]

    @Test("every table of fields is one of a type") func tables() throws {
        let documented = try Self.document.get().types.filter { $0.words.isEmpty }.map(\.title)
        #expect(Set(documented) == Set(Self.kinds.map(\.name)).union(Self.written))
        #expect(documented.count == Set(documented).count)
    }

    @Test("a type has the fields of its table, all of them and no other", arguments: kinds)
    private func fields(kind: Kind) throws {
        let document = try Self.document.get()
        let table = try #require(document[kind.name])
        let sample = try JSONSerialization.data(withJSONObject: document.sample(of: kind.name))
        let (json, properties) = try kind.roundTrip(sample)
        let object = try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(Set(object.keys) == Set(table.fields.map(\.name)))
        #expect(properties == table.fields.count)
        // Only the fields that the table calls optional may be missing.
        for field in table.fields {
            var less = try #require(document.sample(of: kind.name) as? [String: Any])
            less[field.name] = nil
            let data = try JSONSerialization.data(withJSONObject: less)
            let isRead = (try? kind.roundTrip(data)) != nil
            #expect(isRead == field.isOptional, "\(field.name)")
        }
    }

    @Test("what is written by hand has the keys of its tables, also those that rarely occur")
    func writtenKeys() throws {
        let document = try Self.document.get()
        let source = try String(
            contentsOf: Checkout.root.appending(
                path: "Sources/SDLTraffic/Log/TrafficJSONFormat.swift"),
            encoding: .utf8)
        let helper = source.matches(of: #/key: "([a-z_]+)"/#).map { String($0.1) }
        let literal = source.matches(of: #/\\"([a-z_]+)\\":/#).map { String($0.1) }
        let documented = ["Message", "Problem"].flatMap { document[$0]?.fields.map(\.name) ?? [] }
        // `MessageFormatter` adds the text log's line and its summary.
        #expect(Set(helper + literal) == Set(documented).subtracting(["text", "summary"]))
        let events = source.matches(of: #/\\"event\\":\\"([a-z_]+)/#).map { String($0.1) }
        #expect(Set(events) == Set(document["MessageEvent"]?.words ?? []))
    }

    // MARK: Words

    @Test("lists of words are complete") func words() throws {
        let document = try Self.document.get()
        let expected: [(String, [String])] = [
            ("AccessoryReasonCode", LinkProblem.Code.allCases.map(\.rawValue) + ["listening"]),
            ("LimitName", RelayLimit.allCases.map(\.rawValue) + ControlOverflow.Limit.names),
            ("LogLevel", Config.Log.levels.map(\.rawValue)),
            ("MessageKind", MessageFilter.allKinds),
            ("Priority", TrafficPriority.allCases.map(\.name)),
            ("Service", ServiceType.allCases.map(\.name)),
            ("VehicleFormat", MessageFraming.allCases.map(\.rawValue)),
            ("VehicleLimitName", VehicleLimitName.all.map(\.rawValue)),
            ("VehicleMessageKind", VehicleMessageKind.all.map(\.rawValue)),
            ("VehicleParty", VehicleParty.every.map(\.rawValue)),
            ("StreamsRecorded", TraceStreams.allCases.map(\.rawValue)),
            ("WhenBehind", RecordingPolicy.WhenBehind.allCases.map(\.rawValue)),
            ("ValidationRule", ValidationRule.allCases.map(\.rawValue)),
        ]
        for (name, words) in expected {
            #expect(Set(try #require(document[name]).words) == Set(words), "\(name)")
        }
    }

    @Test("the query of messages is told with every key") func query() throws {
        let document = try Self.document.get()
        let list = try #require(document["GET /v1/messages"]).query
        let stream = try #require(document["GET /v1/messages/stream"]).query
        #expect(Set(list + stream) == Set(MessageQueryKey.allCases.map(\.rawValue)))
        #expect(stream == ["last", "follow"])
        let vehicle = try #require(document["GET /v1/vehicle/stream"]).query
        #expect(Set(vehicle) == Set(VehicleQueryKey.allCases.map(\.rawValue)))
    }
}
