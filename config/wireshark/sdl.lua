-- SmartDeviceLink for Wireshark: frames, control payloads, RPCs and their answers.
--
-- Put this file into Wireshark's personal Lua plugins folder (Help > About > Folders). It reads traces
-- of relayd, and SDL over TCP on ports 2776 and 12345, or any other port with "Decode As". Written for
-- Wireshark 3.6 and newer, with Lua 5.1 to 5.4; tested with 4.0. Documentation/wireshark.md of relayd has its filters.
--
-- What is kept from frame to frame (parts of messages, requests without an answer) changes only when a
-- frame is seen for the first time; after that, frames can be looked at in any order.

-- A second copy of this file: the first one stays.
local is_first, sdl = pcall(Proto, "sdl", "SmartDeviceLink")
if not is_first then return end
local relayd = Proto("relayd", "relayd trace record")

-- BEGIN: written by config/wireshark/generate-names; do not edit.
local FUNCTIONS = {
    [1] = "RegisterAppInterface", [2] = "UnregisterAppInterface", [3] = "SetGlobalProperties",
    [4] = "ResetGlobalProperties", [5] = "AddCommand", [6] = "DeleteCommand", [7] = "AddSubMenu",
    [8] = "DeleteSubMenu", [9] = "CreateInteractionChoiceSet", [10] = "PerformInteraction",
    [11] = "DeleteInteractionChoiceSet", [12] = "Alert", [13] = "Show", [14] = "Speak",
    [15] = "SetMediaClockTimer", [16] = "PerformAudioPassThru", [17] = "EndAudioPassThru",
    [18] = "SubscribeButton", [19] = "UnsubscribeButton", [20] = "SubscribeVehicleData",
    [21] = "UnsubscribeVehicleData", [22] = "GetVehicleData", [23] = "ReadDID", [24] = "GetDTCs",
    [25] = "ScrollableMessage", [26] = "Slider", [27] = "ShowConstantTBT", [28] = "AlertManeuver",
    [29] = "UpdateTurnList", [30] = "ChangeRegistration", [31] = "GenericResponse", [32] = "PutFile",
    [33] = "DeleteFile", [34] = "ListFiles", [35] = "SetAppIcon", [36] = "SetDisplayLayout",
    [37] = "DiagnosticMessage", [38] = "SystemRequest", [39] = "SendLocation", [40] = "DialNumber",
    [41] = "ButtonPress", [43] = "GetInteriorVehicleData", [44] = "SetInteriorVehicleData",
    [45] = "GetWayPoints", [46] = "SubscribeWayPoints", [47] = "UnsubscribeWayPoints",
    [48] = "GetSystemCapability", [49] = "SendHapticData", [50] = "SetCloudAppProperties",
    [51] = "GetCloudAppProperties", [52] = "PublishAppService", [53] = "GetAppServiceData", [54] = "GetFile",
    [55] = "PerformAppServiceInteraction", [56] = "UnpublishAppService", [57] = "CancelInteraction",
    [58] = "CloseApplication", [59] = "ShowAppMenu", [60] = "CreateWindow", [61] = "DeleteWindow",
    [62] = "GetInteriorVehicleDataConsent", [63] = "ReleaseInteriorVehicleDataModule", [64] = "SubtleAlert",
    [32768] = "OnHMIStatus", [32769] = "OnAppInterfaceUnregistered", [32770] = "OnButtonEvent",
    [32771] = "OnButtonPress", [32772] = "OnVehicleData", [32773] = "OnCommand", [32774] = "OnTBTClientState",
    [32775] = "OnDriverDistraction", [32776] = "OnPermissionsChange", [32777] = "OnAudioPassThru",
    [32778] = "OnLanguageChange", [32779] = "OnKeyboardInput", [32780] = "OnTouchEvent",
    [32781] = "OnSystemRequest", [32782] = "OnHashChange", [32783] = "OnInteriorVehicleData",
    [32784] = "OnWayPointChange", [32785] = "OnRCStatus", [32786] = "OnAppServiceData",
    [32787] = "OnSystemCapabilityUpdated", [32788] = "OnSubtleAlertPressed", [32789] = "OnUpdateFile",
    [32790] = "OnUpdateSubMenu", [32791] = "OnAppCapabilityUpdated", [65536] = "EncodedSyncPData",
    [65537] = "SyncPData", [98304] = "OnEncodedSyncPData", [98305] = "OnSyncPData",
}
local RESULTS = {
    ABORTED = true, APPLICATION_NOT_REGISTERED = true, APPLICATION_REGISTERED_ALREADY = true,
    CANCEL_ROUTE = true, CHAR_LIMIT_EXCEEDED = true, CORRUPTED_DATA = true, DATA_NOT_AVAILABLE = true,
    DISALLOWED = true, DUPLICATE_NAME = true, ENCRYPTION_NEEDED = true, EXPIRED_CERT = true,
    FILE_NOT_FOUND = true, GENERIC_ERROR = true, IGNORED = true, INVALID_CERT = true, INVALID_DATA = true,
    INVALID_ID = true, IN_USE = true, OUT_OF_MEMORY = true, READ_ONLY = true, REJECTED = true,
    RESUME_FAILED = true, RETRY = true, SAVED = true, SUCCESS = true, TIMED_OUT = true,
    TOO_MANY_APPLICATIONS = true, TOO_MANY_PENDING_REQUESTS = true, TRUNCATED_DATA = true,
    UNSUPPORTED_REQUEST = true, UNSUPPORTED_RESOURCE = true, UNSUPPORTED_VERSION = true,
    USER_DISALLOWED = true, VEHICLE_DATA_NOT_ALLOWED = true, VEHICLE_DATA_NOT_AVAILABLE = true,
    WARNINGS = true, WRONG_LANGUAGE = true,
}
-- What RPCHighlights.swift shows of an RPC in a line of the log.
local HIGHLIGHTS = {
    RegisterAppInterface = {
        request = { { "text", "appName" }, { "labelled", "appID", "appID" }, { "version", "syncMsgVersion", "RPC" } },
        response = { { "version", "syncMsgVersion", "RPC" }, { "wordWithin", "vehicleType", "make" }, { "wordWithin", "vehicleType", "model" }, { "wordWithin", "vehicleType", "modelYear" } },
    },
    Show = {
        request = { { "window", "windowID" }, { "text", "mainField1" }, { "text", "mainField2" }, { "text", "mainField3" }, { "text", "mainField4" }, { "wordWithin", "graphic", "value" } },
    },
    Alert = { request = { { "text", "alertText1" }, { "text", "alertText2" }, { "text", "alertText3" } } },
    SubtleAlert = { request = { { "text", "alertText1" }, { "text", "alertText2" } } },
    ScrollableMessage = { request = { { "text", "scrollableMessageBody" } } },
    Speak = { request = { { "firstText", "text", "ttsChunks", "chunk" } } },
    AddCommand = { request = { { "word", "cmdID" }, { "textWithin", "menuParams", "menuName" } } },
    DeleteCommand = { request = { { "word", "cmdID" } } },
    AddSubMenu = { request = { { "word", "menuID" }, { "text", "menuName" } } },
    DeleteSubMenu = { request = { { "word", "menuID" } } },
    CreateInteractionChoiceSet = {
        request = { { "labelled", "interactionChoiceSetID", "set" }, { "count", "choiceSet", "choice" } },
    },
    DeleteInteractionChoiceSet = { request = { { "labelled", "interactionChoiceSetID", "set" } } },
    PerformInteraction = {
        request = { { "text", "initialText" }, { "word", "interactionMode" } },
        response = { { "labelled", "choiceID", "choice" }, { "word", "triggerSource" } },
    },
    Slider = {
        request = { { "text", "sliderHeader" } },
        response = { { "labelled", "sliderPosition", "position" } },
    },
    SetMediaClockTimer = {
        request = { { "word", "updateMode" }, { "clock", "startTime", "" }, { "clock", "endTime", "to " } },
    },
    SubscribeButton = { request = { { "word", "buttonName" } } },
    UnsubscribeButton = { request = { { "word", "buttonName" } } },
    ButtonPress = { request = { { "word", "buttonName" }, { "word", "buttonPressMode" } } },
    SubscribeVehicleData = { request = { { "members" } } },
    UnsubscribeVehicleData = { request = { { "members" } } },
    GetVehicleData = { request = { { "members" } }, response = { { "values" } } },
    PutFile = {
        request = { { "text", "syncFileName" }, { "word", "fileType" } },
        response = { { "size", "spaceAvailable", "free" } },
    },
    DeleteFile = {
        request = { { "text", "syncFileName" } },
        response = { { "size", "spaceAvailable", "free" } },
    },
    ListFiles = { response = { { "count", "filenames", "file" }, { "size", "spaceAvailable", "free" } } },
    GetFile = { request = { { "text", "fileName" } } },
    SetAppIcon = { request = { { "text", "syncFileName" } } },
    SetDisplayLayout = { request = { { "word", "displayLayout" } } },
    SystemRequest = { request = { { "word", "requestType" }, { "text", "fileName" } } },
    GetSystemCapability = { request = { { "word", "systemCapabilityType" } } },
    ChangeRegistration = { request = { { "word", "language" }, { "word", "hmiDisplayLanguage" } } },
    PerformAudioPassThru = {
        request = { { "word", "samplingRate" }, { "word", "bitsPerSample" }, { "labelled", "maxDuration", "maximum ms" } },
    },
    SendLocation = { request = { { "text", "locationName" } } },
    CreateWindow = { request = { { "word", "windowID" }, { "text", "windowName" }, { "word", "type" } } },
    DeleteWindow = { request = { { "word", "windowID" } } },
    OnHMIStatus = {
        notification = { { "window", "windowID" }, { "word", "hmiLevel" }, { "word", "audioStreamingState" }, { "word", "systemContext" } },
    },
    OnAppInterfaceUnregistered = { notification = { { "word", "reason" } } },
    OnButtonEvent = { notification = { { "word", "buttonName" }, { "word", "buttonEventMode" } } },
    OnButtonPress = {
        notification = { { "word", "buttonName" }, { "word", "buttonPressMode" }, { "labelled", "customButtonID", "custom" } },
    },
    OnCommand = { notification = { { "word", "cmdID" }, { "word", "triggerSource" } } },
    OnVehicleData = { notification = { { "values" } } },
    OnDriverDistraction = { notification = { { "word", "state" } } },
    OnPermissionsChange = { notification = { { "count", "permissionItem", "permission" } } },
    OnLanguageChange = { notification = { { "word", "language" }, { "word", "hmiDisplayLanguage" } } },
    OnKeyboardInput = { notification = { { "word", "event" } } },
    OnTouchEvent = { notification = { { "word", "type" } } },
    OnSystemRequest = { notification = { { "word", "requestType" }, { "text", "url" } } },
    OnHashChange = { notification = { { "word", "hashID" } } },
    OnTBTClientState = { notification = { { "word", "state" } } },
    OnSystemCapabilityUpdated = {
        notification = { { "wordWithin", "systemCapability", "systemCapabilityType" } },
    },
    OnUpdateFile = { notification = { { "text", "fileName" } } },
    OnUpdateSubMenu = { notification = { { "word", "menuID" } } },
}
-- END

-- Limits on what hostile bytes can make this file keep or show.
local MAXIMUM_FRAME = 1048576
local MAXIMUM_MESSAGE = 67108864
local MAXIMUM_JSON = 1048576
local MAXIMUM_DEPTH = 64
local MAXIMUM_VALUES = 50000
local MAXIMUM_INFO = 1000
-- As RPCHighlights.swift has them.
local TEXT_LIMIT, MEMBER_LIMIT, INNER_LIMIT, COORDINATE_DECIMALS = 40, 6, 2, 5

local CONTROL, SINGLE, FIRST, CONSECUTIVE = 0, 1, 2, 3
local FRAME_TYPES = {
    [0] = "control", [1] = "single", [2] = "first", [3] = "consecutive", [4] = "reserved", [5] = "reserved",
    [6] = "reserved", [7] = "reserved",
}
local SERVICES = { [0] = "control", [7] = "rpc", [10] = "audio", [11] = "video", [15] = "bulk" }
local CONTROLS = {
    [0x00] = "Heartbeat", [0x01] = "StartService", [0x02] = "StartServiceACK", [0x03] = "StartServiceNAK",
    [0x04] = "EndService", [0x05] = "EndServiceACK", [0x06] = "EndServiceNAK",
    [0x07] = "RegisterSecondaryTransport", [0x08] = "RegisterSecondaryTransportACK",
    [0x09] = "RegisterSecondaryTransportNAK", [0xFD] = "TransportEventUpdate", [0xFE] = "ServiceDataACK",
    [0xFF] = "HeartbeatACK",
}
-- What a control frame answers, and whether it says no.
local ANSWERS = {
    [0x02] = 0x01, [0x03] = 0x01, [0x05] = 0x04, [0x06] = 0x04, [0x08] = 0x07, [0x09] = 0x07, [0xFF] = 0x00,
}
local REFUSALS = { [0x03] = true, [0x06] = true, [0x09] = true }
local ASKS = { [0x00] = true, [0x01] = true, [0x04] = true, [0x07] = true }
local RPC_TYPES = { [0] = "request", [1] = "response", [2] = "notification" }
local QUERY_TYPES = { [0x00] = "request", [0x10] = "response", [0x20] = "notification", [0xFF] = "invalid" }
local QUERY_NAMES = { [1] = "SendHandshakeData", [2] = "SendInternalError", [0xFFFFFF] = "invalid" }

-- MARK: Fields

local F = {}
local function field(name, kind, abbreviation, title, ...)
    F[name] = ProtoField[kind](abbreviation, title, ...)
    return F[name]
end

sdl.fields = {
    field("version", "uint8", "sdl.version", "Version", base.DEC, nil, 0xF0),
    field("encrypted", "bool", "sdl.encrypted", "Encrypted", 8, nil, 0x08),
    field("type", "uint8", "sdl.type", "Frame type", base.DEC, FRAME_TYPES, 0x07),
    field("service", "uint8", "sdl.service", "Service", base.HEX, SERVICES),
    field("control", "uint8", "sdl.control", "Control frame", base.HEX, CONTROLS),
    field("info", "uint8", "sdl.info", "Frame info", base.HEX),
    field("sequence", "uint8", "sdl.sequence", "Sequence number", base.DEC),
    field("session", "uint8", "sdl.session", "Session", base.DEC),
    field("size", "uint32", "sdl.size", "Size", base.DEC),
    field("message_id", "uint32", "sdl.message_id", "Message ID", base.DEC),
    field("payload", "bytes", "sdl.payload", "Payload"),
    field("count", "uint32", "sdl.frame_count", "Frames received", base.DEC),

    field("app", "uint32", "sdl.app", "App", base.DEC),
    field("app_name", "string", "sdl.app_name", "App name"),
    field("from_app", "bool", "sdl.from_app", "From the app"),
    field("fate", "string", "sdl.fate", "relayd"),
    field("fate_code", "string", "sdl.fate.code", "Code"),
    field("fate_reason", "string", "sdl.fate.reason", "Reason"),

    field("total", "uint32", "sdl.message.size", "Message size", base.DEC),
    field("frames", "uint32", "sdl.message.frames", "Frames to come", base.DEC),
    field("first_in", "framenum", "sdl.message.first_in", "Message begins in", base.NONE),
    field("whole_in", "framenum", "sdl.message.whole_in", "Message is whole in", base.NONE),
    field("part", "framenum", "sdl.message.part", "Part", base.NONE),

    field("request_in", "framenum", "sdl.request_in", "Request in", base.NONE, frametype.REQUEST),
    field("response_in", "framenum", "sdl.response_in", "Response in", base.NONE, frametype.RESPONSE),
    field("latency", "relative_time", "sdl.latency", "Latency"),

    field("rpc_type", "uint8", "sdl.rpc.type", "RPC type", base.DEC, RPC_TYPES, 0xF0),
    field("rpc_type_v1", "string", "sdl.rpc.type_v1", "RPC type"),
    field("function_id", "uint32", "sdl.rpc.function_id", "Function ID", base.DEC, nil, 0x0FFFFFFF),
    field("function_name", "string", "sdl.rpc.function", "Function"),
    field("correlation", "int32", "sdl.rpc.correlation_id", "Correlation ID", base.DEC),
    field("json_size", "uint32", "sdl.rpc.json_size", "JSON size", base.DEC),
    field("json", "string", "sdl.rpc.json", "JSON"),
    field("success", "bool", "sdl.rpc.success", "Success"),
    field("result", "string", "sdl.rpc.result", "Result"),
    field("result_info", "string", "sdl.rpc.info", "Info"),
    field("bulk", "bytes", "sdl.bulk", "Bulk data"),
    field("bulk_size", "uint32", "sdl.bulk.size", "Bulk size", base.DEC),

    field("query_type", "uint8", "sdl.query.type", "Query type", base.HEX, QUERY_TYPES),
    field("query_id", "uint24", "sdl.query.id", "Query", base.HEX, QUERY_NAMES),
    field("query_sequence", "uint32", "sdl.query.sequence", "Sequence number", base.DEC),
    field("query_json_size", "uint32", "sdl.query.json_size", "JSON size", base.DEC),
    field("query_data", "bytes", "sdl.query.data", "Data"),

    field("hash_id", "uint32", "sdl.hash_id", "Hash ID", base.HEX),
    field("mtu", "int64", "sdl.mtu", "MTU", base.DEC),
    field("protocol_version", "string", "sdl.protocol_version", "Protocol version"),
    field("reason", "string", "sdl.reason", "Reason"),
    field("rejected", "string", "sdl.rejected_param", "Rejected parameter"),
    field("width", "int32", "sdl.width", "Width", base.DEC),
    field("height", "int32", "sdl.height", "Height", base.DEC),
    field("video_protocol", "string", "sdl.video_protocol", "Video protocol"),
    field("video_codec", "string", "sdl.video_codec", "Video codec"),
    field("make", "string", "sdl.make", "Make"),
    field("model", "string", "sdl.model", "Model"),
    field("secondary_transport", "string", "sdl.secondary_transport", "Secondary transport"),
    field("tcp_address", "string", "sdl.tcp_address", "TCP address"),
    field("tcp_port", "int32", "sdl.tcp_port", "TCP port", base.DEC),
    field("auth_token", "string", "sdl.auth_token", "Auth token"),
    field("garbage", "bytes", "sdl.garbage", "Bytes that are no frame"),
}

local E = {
    failed = ProtoExpert.new("sdl.failed", "The request failed", expert.group.RESPONSE_CODE, expert.severity.WARN),
    refused = ProtoExpert.new("sdl.refused", "Refused", expert.group.RESPONSE_CODE, expert.severity.WARN),
    dropped = ProtoExpert.new("sdl.dropped", "relayd did not pass it on", expert.group.SEQUENCE, expert.severity.WARN),
    incomplete = ProtoExpert.new("sdl.incomplete", "Parts of the message are missing", expert.group.SEQUENCE,
        expert.severity.WARN),
    malformed = ProtoExpert.new("sdl.malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR),
    unknown = ProtoExpert.new("sdl.unknown", "Unknown", expert.group.UNDECODED, expert.severity.NOTE),
    cut = ProtoExpert.new("sdl.cut", "Not recorded whole", expert.group.UNDECODED, expert.severity.NOTE),
    bug = ProtoExpert.new("sdl.bug", "The dissector failed", expert.group.DEBUG, expert.severity.ERROR),
}
sdl.experts = { E.failed, E.refused, E.dropped, E.incomplete, E.malformed, E.unknown, E.cut, E.bug }

local R = {}
local record_fields = {}
for _, row in ipairs({
    { "record", "string", "Record" }, { "app", "uint32", "App" }, { "session", "uint32", "Session" },
    { "number", "uint32", "Number" }, { "code", "string", "Code" }, { "text", "string", "Text" },
    { "reason", "string", "Reason" }, { "address", "string", "Address" }, { "peer", "string", "Peer" },
    { "frames", "double", "Frames" }, { "bytes", "double", "Bytes" }, { "missed_frames", "double", "Missed frames" },
    { "version", "uint32", "Version" }, { "program", "string", "Program" }, { "accessory", "string", "Accessory" },
    { "started", "string", "Started" }, { "file", "uint32", "File" }, { "streams", "string", "Streams" },
    { "masked", "string", "Masked" },
}) do
    local name, kind, title = row[1], row[2], row[3]
    if kind == "uint32" then
        R[name] = ProtoField.uint32("relayd." .. name, title, base.DEC)
    else
        R[name] = ProtoField[kind]("relayd." .. name, title)
    end
    record_fields[#record_fields + 1] = R[name]
end
relayd.fields = record_fields
local RE = {
    gap = ProtoExpert.new("relayd.gap", "Frames are missing in the trace", expert.group.SEQUENCE, expert.severity.WARN),
    advice = ProtoExpert.new("relayd.advice", "Advice", expert.group.COMMENTS_GROUP, expert.severity.WARN),
    notice = ProtoExpert.new("relayd.notice", "Notice", expert.group.COMMENTS_GROUP, expert.severity.NOTE),
    malformed = ProtoExpert.new("relayd.malformed", "No record", expert.group.MALFORMED, expert.severity.ERROR),
    bug = ProtoExpert.new("relayd.bug", "The dissector failed", expert.group.DEBUG, expert.severity.ERROR),
}
relayd.experts = { RE.gap, RE.advice, RE.notice, RE.malformed, RE.bug }

-- What other dissectors know of the packet; some are missing in some versions.
local function other(name)
    local ok, extractor = pcall(Field.new, name)
    return ok and extractor or function() end
end
local comment_of, interface_id_of, interface_name_of =
    other("frame.comment"), other("frame.interface_id"), other("frame.interface_name")
local section_of, direction_of, time_of, stream_of =
    other("frame.section_number"), other("frame.packet_flags_direction"), other("frame.time_epoch"), other("tcp.stream")

local function value_of(extractor)
    local info = extractor()
    return info and info.value
end

local has_json, json_dissector = pcall(Dissector.get, "json")

-- MARK: State

-- What stays known of each frame: frames[number], and frames[number].more[n] of the n-th SDL frame in the
-- packet. Little, because captures have millions of frames; what the bytes say is read again when it is shown.
local frames
-- Messages of which parts came, by place, direction, session, service and message ID.
local partial
-- Requests without an answer: waiting[place][session][kind], each a list.
local waiting
-- TCP streams: which end is the app's, and packets that are no SDL.
local streams, strangers
-- App names by place and session.
local names

local function forget()
    frames, partial, waiting, streams, strangers, names = {}, {}, {}, {}, {}, {}
end
forget()
function sdl.init() forget() end

-- MARK: Bytes

-- Bytes of a buffer as a Lua string; fewer where there are no more.
local function bytes_of(buffer, offset, length)
    local there = buffer:len() - offset
    if there < length then length = there end
    if length <= 0 or offset < 0 then return "" end
    return buffer:raw(offset, length)
end

-- Unsigned, big-endian; nil when there are not as many bytes. Offsets count from 0.
local function number_at(text, offset, length)
    if offset < 0 or offset + length > #text then return nil end
    local value = 0
    for index = offset + 1, offset + length do value = value * 256 + text:byte(index) end
    return value
end

local function little_at(text, offset, length)
    if offset < 0 or offset + length > #text then return nil end
    local value = 0
    for index = offset + length, offset + 1, -1 do value = value * 256 + text:byte(index) end
    return value
end

local function signed(value)
    if value and value >= 2147483648 then return value - 4294967296 end
    return value
end

-- A range for tree items, never beyond what was captured.
local function range_of(buffer, offset, length)
    local all = buffer:len()
    if offset > all then offset = all end
    if offset < 0 then offset = 0 end
    if length > all - offset then length = all - offset end
    if length < 0 then length = 0 end
    return buffer:range(offset, length)
end

-- Adds a field, if somebody asks for it: a filter, a column, or the tree when it can be seen. Most frames
-- are dissected for their line alone, and adding is what takes longest.
local function put(tree, wanted, buffer, offset, length)
    if tree:referenced(wanted) then tree:add(wanted, range_of(buffer, offset, length)) end
end

-- The same of what stands in no byte, or in several.
local function note(tree, wanted, ...)
    if tree:referenced(wanted) then tree:add(wanted, ...):set_generated() end
end

-- MARK: Text

local REPLACEMENT = "\239\191\189"
-- Length of the UTF-8 sequence at a position, or nil when there is none.
local function utf8_length(text, index)
    local a, b, c, d = text:byte(index, index + 3)
    local function tail(byte) return byte and byte >= 0x80 and byte < 0xC0 end
    if a < 0x80 then return 1 end
    if a >= 0xC2 and a < 0xE0 then return tail(b) and 2 or nil end
    if a >= 0xE0 and a < 0xF0 then
        if not (tail(b) and tail(c)) or (a == 0xE0 and b < 0xA0) or (a == 0xED and b >= 0xA0) then return nil end
        return 3
    end
    if a >= 0xF0 and a < 0xF5 then
        if not (tail(b) and tail(c) and tail(d)) or (a == 0xF0 and b < 0x90) or (a == 0xF4 and b >= 0x90) then
            return nil
        end
        return 4
    end
end

-- Text that can be shown: valid UTF-8 without control characters and without marks that turn the
-- direction of writing; at most so many characters.
local function clean(text, limit)
    limit = limit or 10000
    if #text <= limit and not text:find("[^\32-\126]") then return text end
    local parts, index, count = {}, 1, 0
    while index <= #text do
        if count >= limit then
            parts[#parts + 1] = "…"
            break
        end
        local length = utf8_length(text, index)
        local part = length and text:sub(index, index + length - 1)
        if not part or part:byte() < 32 or part == "\127" or part:find("^\194[\128-\159]")
            or part:find("^\226\128[\142\143\168-\174]") or part:find("^\226\129[\166-\169]") then
            part = REPLACEMENT
        end
        parts[#parts + 1] = part
        index, count = index + (length or 1), count + 1
    end
    return table.concat(parts)
end

local function plain(number) return string.format("%.0f", number) end

local function size_text(bytes)
    if bytes < 1024 then return plain(bytes) .. " B" end
    local units = { "KiB", "MiB", "GiB", "TiB" }
    for place, unit in ipairs(units) do
        bytes = bytes / 1024
        -- Rounded to the nearest, as in the log.
        local tenths = math.floor(bytes * 10 + 0.5)
        if tenths < 10240 or place == #units then
            return string.format("%.1f %s", tenths / 10, unit)
        end
    end
end

local function hex_text(text, limit)
    local shown = text:sub(1, limit):gsub(".", function(one) return string.format("%02x ", one:byte()) end)
    return (shown:gsub(" $", "")) .. (#text > limit and " …" or "")
end

-- MARK: JSON

-- Values: text = { text = "…" }, number = { number = "1.0" }, true, false, NULL,
-- { array = { … } }, { object = { key = … }, keys = { "key", … } }.
local NULL = {}
local ESCAPES = {
    ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

local function utf8_of(code)
    local floor, char = math.floor, string.char
    if code < 0x80 then return char(code) end
    if code < 0x800 then return char(0xC0 + floor(code / 64), 0x80 + code % 64) end
    if code < 0x10000 then
        return char(0xE0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
    end
    return char(0xF0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64, 0x80 + floor(code / 64) % 64,
        0x80 + code % 64)
end

-- The text that begins behind the quote at index - 1, and the index behind its end.
local function json_text(source, index)
    local parts = {}
    while true do
        local stop = source:find('["\\]', index)
        if not stop then return nil, "a text has no end" end
        parts[#parts + 1] = source:sub(index, stop - 1)
        if source:sub(stop, stop) == '"' then return table.concat(parts), stop + 1 end
        local mark = source:sub(stop + 1, stop + 1)
        index = stop + 2
        if mark == "u" then
            local code = source:match("^%x%x%x%x", index)
            if not code then return nil, "an escape is none" end
            code, index = tonumber(code, 16), index + 4
            if code >= 0xD800 and code < 0xDC00 then
                local low = source:match("^\\u([dD][c-fC-F]%x%x)", index)
                if low then
                    code, index = 0x10000 + (code - 0xD800) * 1024 + tonumber(low, 16) - 0xDC00, index + 6
                end
            end
            parts[#parts + 1] = (code >= 0xD800 and code < 0xE000) and REPLACEMENT or utf8_of(code)
        elseif ESCAPES[mark] then
            parts[#parts + 1] = ESCAPES[mark]
        else
            return nil, "an escape is none"
        end
    end
end

local json_value

local function json_array(source, index, depth, budget)
    local array = {}
    index = source:find("[^ \t\r\n]", index) or #source + 1
    if source:sub(index, index) == "]" then return { array = array }, index + 1 end
    while true do
        local value
        value, index = json_value(source, index, depth + 1, budget)
        if value == nil then return nil, index end
        array[#array + 1] = value
        index = source:find("[^ \t\r\n]", index) or #source + 1
        local mark = source:sub(index, index)
        if mark == "]" then return { array = array }, index + 1 end
        if mark ~= "," then return nil, "an array has no end" end
        index = index + 1
    end
end

local function json_object(source, index, depth, budget)
    local object, keys = {}, {}
    index = source:find("[^ \t\r\n]", index) or #source + 1
    if source:sub(index, index) == "}" then return { object = object, keys = keys }, index + 1 end
    while true do
        index = source:match('^[ \t\r\n]*"()', index)
        if not index then return nil, "a key is no text" end
        local key, value
        key, index = json_text(source, index)
        if not key then return nil, index end
        index = source:match("^[ \t\r\n]*:()", index)
        if not index then return nil, "a key has no value" end
        value, index = json_value(source, index, depth + 1, budget)
        if value == nil then return nil, index end
        if object[key] == nil then
            keys[#keys + 1] = key
            object[key] = value
        end
        index = source:find("[^ \t\r\n]", index) or #source + 1
        local mark = source:sub(index, index)
        if mark == "}" then return { object = object, keys = keys }, index + 1 end
        if mark ~= "," then return nil, "an object has no end" end
        index = index + 1
    end
end

-- The value at an index, and the index behind it; or nil and what is wrong.
function json_value(source, index, depth, budget)
    budget.values = budget.values - 1
    if depth > MAXIMUM_DEPTH or budget.values < 0 then return nil, "it is too deep or too much" end
    index = source:find("[^ \t\r\n]", index)
    if not index then return nil, "it ends too early" end
    local mark = source:sub(index, index)
    if mark == "{" then return json_object(source, index + 1, depth, budget) end
    if mark == "[" then return json_array(source, index + 1, depth, budget) end
    if mark == '"' then
        local text, behind = json_text(source, index + 1)
        if not text then return nil, behind end
        return { text = text }, behind
    end
    local number, behind = source:match("^(%-?%d+%.?%d*[eE]?[+-]?%d*)()", index)
    if number then return { number = number }, behind end
    local word = source:match("^%a+", index)
    if word == "true" then return true, index + 4 end
    if word == "false" then return false, index + 5 end
    if word == "null" then return NULL, index + 4 end
    return nil, "what is no value stands in it"
end

-- The object that a text is; or nil and what is wrong.
local function json_object_of(source)
    if #source > MAXIMUM_JSON then return nil, "it is too long" end
    local value, behind = json_value(source, 1, 0, { values = MAXIMUM_VALUES })
    if value == nil then return nil, behind end
    if type(value) ~= "table" or not value.object then return nil, "it is no object" end
    -- sdl_core ends the JSON of version 1 with a zero.
    if source:find("[^%z \t\r\n]", behind) then return nil, "something stands behind it" end
    return value
end

local function member(value, name)
    if type(value) == "table" and value.object then return value.object[name] end
end

local function scalar(value)
    if type(value) == "boolean" then return value and "true" or "false" end
    if value == NULL then return "null" end
    if type(value) == "table" then return value.text or value.number end
end

local function integer(value)
    local text = type(value) == "table" and value.number
    return text and text:find("^%-?%d+$") and #text < 16 and tonumber(text) or nil
end

-- MARK: What an RPC says

local function coordinate(value)
    local text = scalar(value) or "…"
    local head, decimals = text:match("^(%-?%d+%.)(%d+)$")
    return head and head .. decimals:sub(1, COORDINATE_DECIMALS) or clean(text, TEXT_LIMIT)
end

local function short_value(value, depth)
    local text = scalar(value)
    if text then return clean(text, TEXT_LIMIT) end
    if value.array then return "[…]" end
    if depth > 0 then return "{…}" end
    local parts = {}
    for index, key in ipairs(value.keys) do
        if index > INNER_LIMIT then
            parts[#parts + 1] = "…"
            break
        end
        parts[#parts + 1] = clean(key, TEXT_LIMIT) .. "=" .. short_value(value.object[key], depth + 1)
    end
    return "{" .. table.concat(parts, " ") .. "}"
end

local function quoted(value)
    local text = type(value) == "table" and value.text
    if text and text ~= "" then return '"' .. clean(text, TEXT_LIMIT) .. '"' end
end

local function word(value)
    local text = scalar(value)
    if text then return clean(text, TEXT_LIMIT) end
end

local function counted(count, thing) return string.format("%d %s%s", count, thing, count == 1 and "" or "s") end

-- What a highlight of the table above shows of the parameters; nil for nothing.
local SHOW = {
    word = function(all, row) return word(member(all, row[2])) end,
    labelled = function(all, row)
        local text = word(member(all, row[2]))
        return text and row[3] .. " " .. text
    end,
    text = function(all, row) return quoted(member(all, row[2])) end,
    textWithin = function(all, row) return quoted(member(member(all, row[2]), row[3])) end,
    wordWithin = function(all, row) return word(member(member(all, row[2]), row[3])) end,
    count = function(all, row)
        local value = member(all, row[2])
        return type(value) == "table" and value.array and counted(#value.array, row[3]) or nil
    end,
    version = function(all, row)
        local value = member(all, row[2])
        local major, minor = integer(member(value, "majorVersion")), integer(member(value, "minorVersion"))
        if not major or not minor then return nil end
        return row[3] .. " " .. plain(major) .. "." .. plain(minor) .. "."
            .. plain(integer(member(value, "patchVersion")) or 0)
    end,
    size = function(all, row)
        local bytes = integer(member(all, row[2]))
        return bytes and bytes >= 0 and size_text(bytes) .. " " .. row[3] or nil
    end,
    firstText = function(all, row)
        local value = member(all, row[3])
        if type(value) ~= "table" or not value.array then return nil end
        local text = quoted(member(value.array[1], row[2]))
        if not text then return counted(#value.array, row[4]) end
        if #value.array > 1 then text = text .. " +" .. counted(#value.array - 1, row[4]) end
        return text
    end,
    clock = function(all, row)
        local value = member(all, row[2])
        if type(value) ~= "table" or not value.object then return nil end
        local hours, minutes = integer(member(value, "hours")) or 0, integer(member(value, "minutes")) or 0
        local seconds = integer(member(value, "seconds")) or 0
        if hours < 0 or minutes < 0 or seconds < 0 then return nil end
        return row[3] .. string.format("%d:%02d:%02d", hours, minutes, seconds)
    end,
    members = function(all)
        local parts = {}
        for index, key in ipairs(all.keys) do
            if index > MEMBER_LIMIT then
                parts[#parts + 1] = "…"
                break
            end
            local value, text = all.object[key], clean(key, TEXT_LIMIT)
            if type(value) == "table" and (value.text or value.number) then
                text = text .. "=" .. clean(scalar(value), TEXT_LIMIT)
            end
            parts[#parts + 1] = text
        end
        return parts[1] and table.concat(parts, " ")
    end,
    values = function(all)
        local parts, shown = {}, 0
        for _, key in ipairs(all.keys) do
            if key ~= "success" and key ~= "resultCode" and key ~= "info" then
                shown = shown + 1
                if shown > MEMBER_LIMIT then
                    parts[#parts + 1] = "…"
                    break
                end
                local value = all.object[key]
                local latitude, longitude = member(value, "latitudeDegrees"), member(value, "longitudeDegrees")
                local text = latitude and longitude and coordinate(latitude) .. "," .. coordinate(longitude)
                    or short_value(value, 0)
                parts[#parts + 1] = clean(key, TEXT_LIMIT) .. "=" .. text
            end
        end
        return parts[1] and table.concat(parts, " ")
    end,
    window = function(all, row)
        local window = integer(member(all, row[2]))
        return window and window ~= 0 and "window " .. plain(window) or nil
    end,
}

local function highlights_of(rpc, parameters)
    local rows = HIGHLIGHTS[rpc.name]
    local parts = {}
    for _, row in ipairs(rows and rows[rpc.type] or {}) do
        local text = SHOW[row[1]](parameters, row)
        if text then parts[#parts + 1] = text end
    end
    return table.concat(parts, " ")
end

-- Fills in what the parameters say: result, and the words of the line.
local function read_parameters(rpc, parameters)
    local parts = {}
    if rpc.type == "response" then
        local success = member(parameters, "success")
        if type(success) == "boolean" then rpc.success = success end
        local result, info = member(parameters, "resultCode"), member(parameters, "info")
        rpc.result = type(result) == "table" and result.text and clean(result.text, 100) or nil
        rpc.info = type(info) == "table" and info.text and clean(info.text, 1000) or nil
        parts[#parts + 1] = rpc.result
        if rpc.info and rpc.success == false then parts[#parts + 1] = quoted(info) end
    end
    local text = highlights_of(rpc, parameters)
    if text ~= "" then parts[#parts + 1] = text end
    rpc.words = table.concat(parts, "  ")
    if rpc.name == "RegisterAppInterface" and rpc.type == "request" then
        local name = member(parameters, "appName")
        rpc.app_name = type(name) == "table" and name.text and clean(name.text, TEXT_LIMIT) or nil
    end
end

-- An RPC of version 1 is one JSON object with everything in it.
local function read_rpc_v1(text)
    local rpc = { json = { 0, #text }, version = 1 }
    local object, problem = json_object_of(text)
    if not object then
        rpc.malformed = "the JSON cannot be read: " .. problem
        return rpc
    end
    for _, kind in ipairs({ "request", "response", "notification" }) do
        local inner = member(object, kind)
        if type(inner) == "table" and inner.object then
            local name = member(inner, "name")
            rpc.type = kind
            rpc.name = type(name) == "table" and name.text and clean(name.text, 100) or "?"
            rpc.correlation = integer(member(inner, "correlationID"))
            local parameters = member(inner, "parameters")
            if type(parameters) == "table" and parameters.object then read_parameters(rpc, parameters) end
            return rpc
        end
    end
    rpc.malformed = "it is neither request nor response nor notification"
    return rpc
end

-- The RPC that a message is. head: its first bytes; all: how many it has; more(offset, length): some of them.
local function read_rpc(version, all, more)
    if version == 1 then
        if all > MAXIMUM_JSON then return { version = 1, malformed = "it is too long" } end
        return read_rpc_v1(more(0, all))
    end
    local head = more(0, 12)
    local first, correlation, size = number_at(head, 0, 4), number_at(head, 4, 4), number_at(head, 8, 4)
    if not size then return { malformed = "it is shorter than the header of an RPC" } end
    local id = first % 268435456
    local kind = (first - id) / 268435456
    local rpc = {
        type = RPC_TYPES[kind], id = id, name = FUNCTIONS[id] or string.format("function 0x%x", id),
        correlation = signed(correlation), json = { 12, size }, bulk = all - 12 - size,
    }
    if not rpc.type then
        rpc.malformed = "its type is " .. plain(kind) .. ", which is none"
    elseif rpc.bulk < 0 then
        rpc.malformed = "the JSON has " .. plain(size) .. " bytes, and there are " .. plain(all - 12)
        rpc.json[2], rpc.bulk = all - 12, 0
    elseif size > MAXIMUM_JSON then
        rpc.malformed = "the JSON has " .. plain(size) .. " bytes, which is too much to be read"
    elseif size > 0 then
        local parameters, problem = json_object_of(more(12, size))
        if parameters then
            read_parameters(rpc, parameters)
        else
            rpc.malformed = "the JSON cannot be read: " .. problem
        end
    end
    return rpc
end

-- MARK: Where a frame passed

-- Place, whether the app sent it (nil: nobody knows), the app's number, whether it is of a trace.
local function origin(pinfo)
    local stream = value_of(stream_of)
    if stream then
        local known = streams[stream]
        local from_app
        if known and known.app_port then
            from_app = pinfo.src_port == known.app_port
        elseif pinfo.match_uint == pinfo.dst_port and pinfo.src_port ~= pinfo.dst_port then
            from_app = true
        elseif pinfo.match_uint == pinfo.src_port and pinfo.src_port ~= pinfo.dst_port then
            from_app = false
        end
        return "stream " .. tostring(stream), from_app, nil, false
    end
    local interface = value_of(interface_id_of)
    local place = tostring(value_of(section_of) or 0) .. "/" .. tostring(interface)
    local name = value_of(interface_name_of)
    local direction = value_of(direction_of)
    if type(name) ~= "string" or (direction ~= 1 and direction ~= 2) then return place, nil, nil, false end
    local app = name:match("^app (%d%d?%d?%d?%d?%d?%d?%d?%d?)$")
    if app then return place, direction == 1, tonumber(app), true end
    if name:find("^link %d+$") then return place, direction == 2, nil, true end
    return place, nil, nil, false
end

-- The words of relayd's comments: word, code and reason of each.
local function fates()
    local found = {}
    for _, info in ipairs({ comment_of() }) do
        local text = info.value
        text = type(text) == "string" and text:match("^relayd: (.*)$")
        if text then
            local code, reason = text:match("^dropped, ([%w_]+): (.*)$")
            code = code or text:match("^dropped, ([%w_]+)$")
            found[#found + 1] = { word = code and "dropped" or clean(text, 200), code = code,
                reason = reason and clean(reason, 500) }
        end
    end
    return found
end

-- MARK: Requests and answers

local function table_in(parent, key)
    local child = parent[key] or {}
    parent[key] = child
    return child
end

-- The same number again and again is nobody's who waits for an answer.
local MAXIMUM_WAITING = 100

local function wait_for_answer(record, session, key, name)
    local list = table_in(table_in(table_in(waiting, record.place), session), key)
    if #list >= MAXIMUM_WAITING then table.remove(list, 1) end
    list[#list + 1] = {
        kept = record.kept, number = record.number, time = record.time, from_app = record.from_app, name = name,
    }
end

-- Links an answer with the oldest request from the other side, of that name if there is one.
local function find_request(record, session, key, name)
    local sessions = waiting[record.place]
    local lists = sessions and sessions[session]
    local list = lists and lists[key]
    for index, request in ipairs(list or {}) do
        local faces = request.from_app == nil or record.from_app == nil or request.from_app ~= record.from_app
        if faces and (name == nil or request.name == name) then
            table.remove(list, index)
            if #list == 0 then lists[key] = nil end
            request.kept.response_in = record.number
            record.kept.request_in = request.number
            if name == nil then record.kept.asked = request.name end
            if request.time and record.time then
                local span = record.time - request.time
                record.kept.latency = span.secs * 1000000000 + span.nsecs
            end
            return true
        end
    end
    return false
end

local function match_rpc(record, rpc)
    if not rpc.correlation or not rpc.name then return end
    local key = "rpc " .. plain(rpc.correlation)
    if rpc.type == "request" then
        wait_for_answer(record, record.session, key, rpc.name)
    elseif rpc.type == "response" and not find_request(record, record.session, key, rpc.name)
        and rpc.name == "GenericResponse" then
        find_request(record, record.session, key)
    end
end

local function match_control(record)
    local asked = ANSWERS[record.info]
    if asked then
        -- The answer to a StartService for a new session has the new session's number.
        local key = "control " .. asked .. " " .. record.service
        if not find_request(record, record.session, key, "control") and record.session ~= 0 then
            find_request(record, 0, key, "control")
        end
    elseif ASKS[record.info] then
        wait_for_answer(record, record.session, "control " .. record.info .. " " .. record.service, "control")
    end
end

-- A new session has nothing to do with the one that had its number before.
local function begin_session(record)
    if waiting[record.place] then
        local starts = waiting[record.place][record.session]
        waiting[record.place][record.session] = nil
        if record.session == 0 then waiting[record.place][0] = starts end
    end
    names[record.place .. " " .. record.session] = nil
end

-- MARK: Messages of several frames

local function message_key(record)
    return table.concat({ record.place, tostring(record.from_app), record.session, record.service,
        plain(record.message_id or 0) }, " ")
end

local function begin_message(record, payload)
    local total, count = number_at(payload, 0, 4), number_at(payload, 4, 4)
    if record.encrypted and #payload ~= 8 then total, count = nil, nil end
    local old = partial[message_key(record)]
    if old then old.problem = "another message with its ID began before it was whole" end
    local message = {
        first = record.number, total = total, count = count, parts = {}, frames = { record.number }, bytes = 0,
        received = 0,
        -- Streams may be long, and what is encrypted cannot be read.
        is_kept = (record.service == 7 or record.service == 15) and not record.encrypted,
    }
    if total and total > MAXIMUM_MESSAGE then message.is_kept = false end
    partial[message_key(record)] = message
    record.kept.message = message
end

local function continue_message(record, payload, size)
    local key = message_key(record)
    local message = partial[key]
    if not message then
        record.kept.is_stray = true
        return
    end
    record.kept.message = message
    message.received, message.bytes = message.received + 1, message.bytes + size
    message.frames[#message.frames + 1] = record.number
    if record.encrypted or #payload < size or message.bytes > MAXIMUM_MESSAGE then
        message.is_kept, message.parts = false, {}
    elseif message.is_kept then
        message.parts[#message.parts + 1] = payload
    end
    local is_last = record.info == 0
    if not is_last and record.info ~= (message.received - 1) % 255 + 1 then
        message.problem = "frame " .. plain(message.received) .. " has the sequence number " .. plain(record.info)
        partial[key] = nil
        return
    end
    if not is_last then return end
    partial[key] = nil
    if message.count and message.count ~= message.received then
        message.problem = plain(message.count) .. " frames were announced, " .. plain(message.received) .. " came"
    elseif message.total and message.total ~= message.bytes and not record.encrypted then
        message.problem = plain(message.total) .. " bytes were announced, " .. plain(message.bytes) .. " came"
    end
    message.whole = record.number
    if message.is_kept then record.kept.text = table.concat(message.parts) end
    message.parts = nil
end

-- MARK: BSON

local BSON_FIELDS = {
    protocolVersion = "protocol_version", hashId = "hash_id", mtu = "mtu", reason = "reason", width = "width",
    height = "height", videoProtocol = "video_protocol", videoCodec = "video_codec", make = "make",
    model = "model", tcpIpAddress = "tcp_address", tcpPort = "tcp_port", authToken = "auth_token",
}
local BSON_ELEMENTS = { rejectedParams = "rejected", secondaryTransports = "secondary_transport" }
local BSON_TYPES = {
    [0x01] = "double", [0x02] = "string", [0x03] = "document", [0x04] = "array", [0x08] = "boolean",
    [0x10] = "int32", [0x12] = "int64",
}
-- Types that receivers insist on.
local BSON_EXPECTED = {
    hashId = "int32", mtu = "int64", width = "int32", height = "int32", tcpPort = "int32", protocolVersion = "string",
    reason = "string", videoProtocol = "string", videoCodec = "string", make = "string", model = "string",
    tcpIpAddress = "string", authToken = "string",
}

-- Elements of the document at an offset, or nil and what is wrong: { key, type, text, at, length, inner }.
-- text: the value as shown; at, length: where it stands.
local function read_bson(source, offset, limit, depth, budget)
    local size = little_at(source, offset, 4)
    if not size or size < 5 or offset + size > limit then return nil, "its length is wrong" end
    if depth > 8 then return nil, "it is nested too deeply" end
    local elements, index, stop = {}, offset + 4, offset + size - 1
    while true do
        local kind = number_at(source, index, 1)
        if not kind or index > stop then return nil, "it has no end" end
        if kind == 0 then break end
        budget.elements = budget.elements - 1
        if budget.elements < 0 then return nil, "it has too many elements" end
        local zero = source:find("\0", index + 2, true)
        if not zero or zero > stop then return nil, "a key has no end" end
        local element = { key = source:sub(index + 2, zero - 1), type = BSON_TYPES[kind], from = index }
        index = zero
        element.at = index
        if kind == 0x02 then
            local length = little_at(source, index, 4)
            if not length or length < 1 or index + 4 + length > stop then return nil, "a text is too long" end
            element.at, element.length = index + 4, length - 1
            element.text = source:sub(index + 5, index + 3 + length)
            index = index + 4 + length
        elseif kind == 0x03 or kind == 0x04 then
            local inner, problem = read_bson(source, index, stop, depth + 1, budget)
            if not inner then return nil, problem end
            element.inner, element.length = inner, little_at(source, index, 4)
            index = index + element.length
        elseif kind == 0x08 then
            element.length, element.text = 1, number_at(source, index, 1) == 0 and "false" or "true"
            index = index + 1
        elseif kind == 0x10 then
            local value = little_at(source, index, 4)
            if not value then return nil, "a number is cut off" end
            element.length, element.number, element.text = 4, value, plain(signed(value))
            index = index + 4
        elseif kind == 0x12 or kind == 0x01 then
            local low, high = little_at(source, index, 4), little_at(source, index + 4, 4)
            if not high then return nil, "a number is cut off" end
            element.length = 8
            -- Beyond 2^53 not exact; the field is.
            element.text = kind == 0x12 and plain(signed(high) * 4294967296 + low) or "a double"
            index = index + 8
        else
            return nil, string.format("it has a value of type 0x%02x", kind)
        end
        if index > stop then return nil, "a value is cut off" end
        element.to = index
        elements[#elements + 1] = element
    end
    if index ~= stop then return nil, "something stands behind its end" end
    return elements
end

local function element_text(element)
    if not element.inner then return clean(element.text, 200) end
    local parts = {}
    for _, inner in ipairs(element.inner) do parts[#parts + 1] = element_text(inner) end
    return table.concat(parts, ",")
end

-- Keys that ControlDetails.swift tells in its own way, or not at all.
local BSON_TOLD = {}
for _, key in ipairs({
    "protocolVersion", "reason", "rejectedParams", "width", "height", "videoCodec", "videoProtocol", "hashId", "mtu",
    "make", "model", "modelYear", "trim", "systemSoftwareVersion", "systemHardwareVersion", "secondaryTransports",
    "audioServiceTransports", "videoServiceTransports", "tcpIpAddress", "tcpPort", "authToken",
}) do BSON_TOLD[key] = true end

-- What the document says, as the log of relayd puts it.
local function bson_words(elements)
    local by_key, parts = {}, {}
    for _, element in ipairs(elements) do by_key[element.key] = by_key[element.key] or element end
    local function add(before, key, after)
        local element = by_key[key]
        if element then parts[#parts + 1] = before .. element_text(element) .. (after or "") end
    end
    local function join(keys, separator)
        local texts = {}
        for _, key in ipairs(keys) do
            if by_key[key] then texts[#texts + 1] = element_text(by_key[key]) end
        end
        if texts[1] then parts[#parts + 1] = table.concat(texts, separator) end
    end
    add("protocol ", "protocolVersion")
    add('"', "reason", '"')
    add("rejects ", "rejectedParams")
    join({ "width", "height" }, "×")
    join({ "videoCodec", "videoProtocol" }, " ")
    local hash = by_key.hashId
    if hash then
        parts[#parts + 1] = hash.type == "int32" and string.format("hash 0x%08x", hash.number)
            or "hash " .. element_text(hash) .. ", not an int32"
    end
    add("mtu ", "mtu")
    join({ "make", "model", "modelYear", "trim" }, " ")
    add("software ", "systemSoftwareVersion")
    add("hardware ", "systemHardwareVersion")
    local offers = by_key.secondaryTransports
    if offers and offers.inner and offers.inner[1] then add("offers ", "secondaryTransports") end
    if by_key.tcpIpAddress then
        local port = by_key.tcpPort and ":" .. element_text(by_key.tcpPort) or ""
        parts[#parts + 1] = element_text(by_key.tcpIpAddress) == "" and "no TCP"
            or "TCP " .. element_text(by_key.tcpIpAddress) .. port
    end
    for _, element in ipairs(elements) do
        if not BSON_TOLD[element.key] then
            parts[#parts + 1] = clean(element.key, TEXT_LIMIT) .. " " .. element_text(element)
        end
    end
    return table.concat(parts, "  ")
end

local function add_bson(tree, buffer, base_offset, elements, of_key)
    for _, element in ipairs(elements) do
        local key = of_key or element.key
        local range = range_of(buffer, base_offset + element.at, element.length)
        local name = of_key and BSON_ELEMENTS[of_key] or BSON_FIELDS[key]
        local is_expected = of_key or BSON_EXPECTED[key] == element.type
        local item
        if name and is_expected and element.type == "string" then
            item = tree:add(F[name], range, clean(element.text))
        elseif name and is_expected and not of_key and element.type and element.length > 1 and element.type ~= "double" then
            item = tree:add_le(F[name], range)
        elseif element.inner then
            item = tree:add(range, clean(element.key, 100))
            add_bson(item, buffer, base_offset, element.inner, BSON_ELEMENTS[element.key] and element.key)
        else
            item = tree:add(range, clean(element.key, 100) .. ": " .. clean(element.text, 200))
        end
        if not of_key and BSON_EXPECTED[key] and not is_expected then
            item:add_proto_expert_info(E.malformed,
                clean(key, 100) .. " is of type " .. tostring(element.type) .. ", not " .. BSON_EXPECTED[key])
        end
    end
end

-- MARK: A frame

-- Version, type and size of the frame that begins with these bytes; or nil, and what is wrong with them, which
-- is nil when there are too few to tell.
local function header_of(head)
    local first, service, info, session = head:byte(1, 4)
    if not first then return nil end
    local header = {
        version = math.floor(first / 16), encrypted = math.floor(first / 8) % 2 == 1, type = first % 8,
        service = service, info = info, session = session, size = number_at(head, 4, 4),
    }
    header.length = header.version == 1 and 8 or 12
    if header.version > 1 then header.message_id = number_at(head, 8, 4) end
    if header.version < 1 or header.version > 5 then return header, "version " .. header.version end
    if header.type > CONSECUTIVE then return header, "frame type " .. header.type end
    if header.version == 1 and header.encrypted then return header, "the compression of version 1" end
    if service and not SERVICES[service] then return header, "service " .. service end
    if not header.size then return header end
    if header.type == CONTROL and not CONTROLS[info] then return header, "control frame " .. info end
    if header.type == FIRST and header.size ~= 8 and not header.encrypted then
        return header, "a first frame of " .. plain(header.size) .. " bytes"
    end
    if (header.type == SINGLE or header.type == CONSECUTIVE) and header.size == 0 then
        return header, "an empty frame"
    end
    if header.size > MAXIMUM_FRAME then return header, "a frame of " .. plain(header.size) .. " bytes" end
    return header
end

-- What is kept of this SDL frame, the n-th of its packet, and whether it is seen for the first time.
local function kept_of(pinfo, head)
    local number = pinfo.number
    local index = (tonumber(pinfo.private["sdl_frame"] or "") or 0) + 1
    pinfo.private["sdl_frame"] = string.format("%d", index)
    local first = frames[number]
    local kept = first
    if index > 1 then kept = first and first.more and first.more[index] end
    -- A packet that is dissected differently now has nothing.
    if kept then return kept.head == head and kept or { head = head }, false end
    kept = { head = head }
    if pinfo.visited then return kept, false end
    if index == 1 then
        frames[number] = kept
    elseif first then
        table_in(first, "more")[index] = kept
    end
    return kept, true
end

-- What is known of a frame beside its bytes, for as long as it is dissected.
local function record_of(pinfo, head, header)
    local kept, is_new = kept_of(pinfo, head)
    local record = {
        kept = kept, is_new = is_new, number = pinfo.number, version = header.version, service = header.service or 0,
        session = header.session or 0, info = header.info or 0, message_id = header.message_id,
        encrypted = header.encrypted, fates = fates(),
    }
    for _, fate in ipairs(record.fates) do
        if not fate.word:find("^grant ") and fate.word ~= "masked" then record.fate = record.fate or fate.word end
    end
    record.place, record.from_app, record.app, record.is_traced = origin(pinfo)
    if is_new then record.time = value_of(time_of) end
    if record.is_traced then return record end
    -- Told by what it says where the packet does not tell.
    if is_new then
        local told
        if header.type == CONTROL then
            if header.info == 0x01 or header.info == 0x07 then told = true end
            if header.info == 0x02 or header.info == 0x03 or header.info == 0x08 or header.info == 0xFD then
                told = false
            end
        end
        if told ~= nil then
            record.from_app = told
            local stream = value_of(stream_of)
            if stream and streams[stream] then streams[stream].app_port = told and pinfo.src_port or pinfo.dst_port end
        end
        kept.from_app = record.from_app
    else
        record.from_app = kept.from_app
    end
    return record
end

local function arrow(from_app)
    if from_app == nil then return "·" end
    return from_app and "→" or "←"
end

-- The line of a frame: session, sign, what it is.
local function line(header, record, sign, ...)
    local parts = { plain(header.session or 0) .. " " .. (sign or arrow(record.from_app)) }
    local first = true
    for index = 1, select("#", ...) do
        local text = select(index, ...)
        if text and text ~= "" then
            parts[#parts + 1] = first and " " or "  "
            parts[#parts + 1] = text
            first = false
        end
    end
    return table.concat(parts)
end

local function latency_text(record)
    if not record.kept.latency then return nil end
    local value = record.kept.latency / 1000000
    return string.format(value < 10 and "%.1f ms" or "%.0f ms", value)
end

local function add_links(tree, kept)
    if kept.request_in then note(tree, F.request_in, kept.request_in) end
    if kept.response_in then note(tree, F.response_in, kept.response_in) end
    if kept.latency then
        -- Both parts below zero where the clock was set back.
        local rest = math.fmod(kept.latency, 1000000000)
        local seconds = (kept.latency - rest) / 1000000000
        tree:add(F.latency, NSTime.new(math.floor(seconds), math.floor(rest))):set_generated()
    end
end

local function service_name(service)
    return SERVICES[service] or "service " .. plain(service or 0)
end

-- MARK: Payloads

local function show_control(buffer, offset, size, header, record, tree, item)
    local name = CONTROLS[header.info] or string.format("control frame 0x%02x", header.info or 0)
    local parts = {}
    if header.info == 0x02 or (header.info >= 0x04 and header.info <= 0x06) then
        parts[#parts + 1] = "session " .. plain(header.session)
    end
    local payload = bytes_of(buffer, offset, size)
    if record.is_new then
        if header.info == 0x02 and header.service == 7 and record.fate ~= "replaced" then begin_session(record) end
        if record.fate ~= "replaced" then match_control(record) end
    end
    if #payload > 0 and #payload == size then
        -- Only version 5 has documents, and the first StartService, which travels as version 1.
        local is_document = header.version >= 5 or (header.version == 1 and header.info == 0x01)
        if is_document then
            local elements, problem = read_bson(payload, 0, #payload, 0, { elements = 1024 })
            local range = range_of(buffer, offset, size)
            if elements then
                add_bson(tree:add(range, "BSON document"), buffer, offset, elements)
                local words = bson_words(elements)
                if words ~= "" then parts[#parts + 1] = words end
            else
                tree:add(F.payload, range):add_proto_expert_info(E.malformed, "The BSON cannot be read: " .. problem)
                parts[#parts + 1] = "unreadable payload [" .. hex_text(payload, 16) .. "]"
            end
        elseif header.info == 0xFE and size == 4 then
            put(tree, F.count, buffer, offset, 4)
            parts[#parts + 1] = plain(number_at(payload, 0, 4)) .. " frames"
        elseif size == 4 and (header.info == 0x02 or (header.info >= 0x04 and header.info <= 0x06)) then
            put(tree, F.hash_id, buffer, offset, 4)
            parts[#parts + 1] = string.format("hash 0x%08x", number_at(payload, 0, 4))
        else
            local unread = tree:add(F.payload, range_of(buffer, offset, size))
            unread:add_proto_expert_info(E.unknown, "A payload that this control frame does not have")
        end
    end
    add_links(tree, record.kept)
    if REFUSALS[header.info] then item:add_proto_expert_info(E.refused, name) end
    item:append_text(", " .. name .. " " .. service_name(header.service))
    return line(header, record, REFUSALS[header.info] and "✗", name .. " " .. service_name(header.service),
        table.concat(parts, "  "), latency_text(record))
end

-- The handshake of protected services: single frames on the control service.
local function show_query(buffer, offset, size, header, record, tree, item)
    local head = bytes_of(buffer, offset, 12)
    if #head < 12 or size < 12 then
        item:add_proto_expert_info(E.malformed, "It is shorter than the header of a security query")
        return line(header, record, nil, "security query", size_text(size))
    end
    local id, json = number_at(head, 1, 3), number_at(head, 8, 4)
    put(tree, F.query_type, buffer, offset, 1)
    put(tree, F.query_id, buffer, offset + 1, 3)
    put(tree, F.query_sequence, buffer, offset + 4, 4)
    put(tree, F.query_json_size, buffer, offset + 8, 4)
    if size > 12 then put(tree, F.query_data, buffer, offset + 12, size - 12) end
    if json > size - 12 then item:add_proto_expert_info(E.malformed, "The JSON is longer than the message") end
    local name = QUERY_NAMES[id] or string.format("security query 0x%06x", id)
    item:append_text(", " .. name)
    return line(header, record, nil, name, size_text(size))
end

-- A whole message of the RPC or bulk service.
local function show_rpc(buffer, offset, size, version, header, record, pinfo, tree, item)
    local rpc = read_rpc(version, size, function(from, length)
        if from >= size then return "" end
        return bytes_of(buffer, offset + from, math.min(length, size - from))
    end)
    if record.is_new then
        match_rpc(record, rpc)
        if rpc.app_name then names[record.place .. " " .. record.session] = rpc.app_name end
    end
    local branch = tree:add(range_of(buffer, offset, size), "RPC")
    if version > 1 and size >= 12 then
        put(branch, F.rpc_type, buffer, offset, 1)
        put(branch, F.function_id, buffer, offset, 4)
        branch:add(F.function_name, range_of(buffer, offset, 4), rpc.name):set_generated()
        put(branch, F.correlation, buffer, offset + 4, 4)
        put(branch, F.json_size, buffer, offset + 8, 4)
        if not FUNCTIONS[rpc.id] then
            branch:add_proto_expert_info(E.unknown, "The RPC specification has no " .. rpc.name)
        end
    elseif rpc.name then
        local range = range_of(buffer, offset, size)
        note(branch, F.rpc_type_v1, range, rpc.type)
        note(branch, F.function_name, range, rpc.name)
        if rpc.correlation then
            branch:add(F.correlation, range, math.max(-2147483648, math.min(2147483647, rpc.correlation))):set_generated()
        end
    end
    local json = rpc.json
    if json and json[2] > 0 then
        local range = range_of(buffer, offset + json[1], math.min(json[2], size - json[1]))
        local is_wanted = has_json and json_dissector and branch:referenced(json_dissector)
        local json_item = branch
        if is_wanted or branch:referenced(F.json) then
            json_item = branch:add_packet_field(F.json, range, ENC_UTF_8 + ENC_NA)
        end
        if rpc.success ~= nil then note(branch, F.success, range, rpc.success) end
        if rpc.result then
            local result = branch:add(F.result, range, rpc.result):set_generated()
            if not RESULTS[rpc.result] then
                result:add_proto_expert_info(E.unknown, "The RPC specification has no result " .. rpc.result)
            end
        end
        if rpc.info then note(branch, F.result_info, range, rpc.info) end
        -- What cannot be read here may be too deep for it.
        if is_wanted and not rpc.malformed and range:len() > 0 then
            pcall(function() json_dissector:call(range:tvb(), pinfo, json_item) end)
        end
    end
    if rpc.bulk and rpc.bulk > 0 then
        local from = offset + json[1] + json[2]
        put(branch, F.bulk, buffer, from, rpc.bulk)
        note(branch, F.bulk_size, rpc.bulk)
    end
    add_links(branch, record.kept)
    local sign
    if rpc.type == "response" then sign = rpc.success == false and "✗" or "✓" end
    local name = rpc.name or "RPC"
    if rpc.correlation and rpc.type ~= "notification" then name = name .. " corr " .. plain(rpc.correlation) end
    if rpc.malformed then
        branch:add_proto_expert_info(E.malformed, "The RPC is malformed: " .. rpc.malformed)
        sign = "✗"
    elseif rpc.success == false then
        local words = (record.kept.asked or rpc.name) .. " failed: " .. (rpc.result or "no resultCode")
        branch:add_proto_expert_info(E.failed, rpc.info and words .. ", " .. rpc.info or words)
    end
    local text = (rpc.name or "?") .. " " .. (rpc.type or "")
    branch:set_text("RPC: " .. text)
    item:append_text(", " .. text)
    local bulk = rpc.bulk and rpc.bulk > 0 and "bulk " .. size_text(rpc.bulk) or nil
    return line(header, record, sign, name, rpc.malformed and "malformed: " .. rpc.malformed or rpc.words, bulk,
        latency_text(record))
end

local function show_message_parts(tree, record, header)
    local message = record.kept.message
    if not message then
        if record.kept.is_stray then
            tree:add_proto_expert_info(E.incomplete, "The beginning of its message is not in the capture")
        end
        return
    end
    if header.type ~= FIRST then note(tree, F.first_in, message.first) end
    if message.whole and message.whole ~= record.number then note(tree, F.whole_in, message.whole) end
    if message.whole == record.number then
        local branch = tree:add(sdl, "Parts of the message: " .. plain(#message.frames)):set_generated()
        for index, number in ipairs(message.frames) do
            if index > 1000 then break end
            note(branch, F.part, number)
        end
    end
    if message.problem then tree:add_proto_expert_info(E.incomplete, "Parts are missing: " .. message.problem) end
end

-- The payload of a first or consecutive frame; its last one has the whole message.
local function show_part(buffer, offset, size, header, record, pinfo, tree, item)
    local payload = bytes_of(buffer, offset, size)
    if record.is_new then
        if header.type == FIRST then
            begin_message(record, payload)
        else
            continue_message(record, payload, header.size or 0)
        end
    end
    local message = record.kept.message
    if header.type == FIRST and #payload == 8 then
        put(tree, F.total, buffer, offset, 4)
        put(tree, F.frames, buffer, offset + 4, 4)
    elseif #payload > 0 then
        put(tree, F.payload, buffer, offset, size)
    end
    show_message_parts(tree, record, header)
    local text = record.kept.text
    if text then
        local whole = ByteArray.new(text, true):tvb("SDL message")
        return show_rpc(whole, 0, #text, header.version, header, record, pinfo, tree, item)
    end
    local of = ""
    if header.type == FIRST then
        local total, count = number_at(payload, 0, 4), number_at(payload, 4, 4)
        if #payload == 8 then of = "message of " .. size_text(total) .. " in " .. plain(count) .. " frames" end
        return line(header, record, nil, service_name(header.service) .. " first frame", of)
    end
    if message and message.count then of = "of " .. plain(message.count) end
    local words = header.info == 0 and "last frame" or "frame " .. plain(header.info) .. " " .. of
    return line(header, record, nil, service_name(header.service) .. " " .. (words:gsub(" $", "")),
        record.encrypted and "encrypted", size_text(header.size or 0),
        record.kept.is_stray and "without its beginning" or nil)
end

-- MARK: The tree of a frame

local function show_fate(tree, item, record)
    local words
    for _, fate in ipairs(record.fates) do
        local branch = tree:add(F.fate, fate.word):set_generated()
        if fate.code then
            note(branch, F.fate_code, fate.code)
            if fate.reason then note(branch, F.fate_reason, fate.reason) end
            local text = fate.code .. (fate.reason and ": " .. fate.reason or "")
            item:add_proto_expert_info(E.dropped, "relayd did not pass it on, " .. text)
            words = "dropped: " .. (fate.reason or fate.code)
        elseif fate.word ~= "masked" and not fate.word:find("^grant ") then
            words = words or "relayd: " .. fate.word
        end
    end
    return words
end

local function show_columns(pinfo, record)
    pinfo.cols.protocol = "SDL"
    if not record.is_traced then return end
    local app = record.kept.app_name or (record.app and "app " .. plain(record.app)) or "no app"
    local source, target = app, "head unit"
    if record.from_app == false then source, target = target, source end
    if record.fate == "own" then source = "relayd" end
    pinfo.cols.src = source
    pinfo.cols.dst = target
end

-- One frame; the buffer has nothing else. Returns its line.
local function show_frame(buffer, pinfo, root)
    local captured, reported = buffer:len(), buffer:reported_len()
    local head = bytes_of(buffer, 0, 12)
    local header, problem = header_of(head)
    local item = root:add(sdl, range_of(buffer, 0, captured))
    if not header or not header.size or captured < header.length then
        item:add_proto_expert_info(E.malformed, "It is shorter than the header of a frame")
        if captured > 0 then put(item, F.garbage, buffer, 0, captured) end
        return "· malformed: shorter than the header of a frame"
    end
    local record = record_of(pinfo, head, header)
    local name_key = record.place .. " " .. record.session
    if record.is_new then record.kept.app_name = names[name_key] end

    put(item, F.version, buffer, 0, 1)
    put(item, F.encrypted, buffer, 0, 1)
    put(item, F.type, buffer, 0, 1)
    put(item, F.service, buffer, 1, 1)
    if header.type == CONTROL then
        put(item, F.control, buffer, 2, 1)
    elseif header.type == CONSECUTIVE then
        put(item, F.sequence, buffer, 2, 1)
    else
        put(item, F.info, buffer, 2, 1)
    end
    put(item, F.session, buffer, 3, 1)
    put(item, F.size, buffer, 4, 4)
    if header.version > 1 then put(item, F.message_id, buffer, 8, 4) end
    item:append_text(", session " .. plain(header.session))
    if problem then item:add_proto_expert_info(E.malformed, "The frame has " .. problem) end

    local offset, size = header.length, captured - header.length
    local text
    if reported - header.length ~= header.size then
        item:add_proto_expert_info(E.malformed, "The header says " .. plain(header.size)
            .. " bytes of payload, and there are " .. plain(reported - header.length))
        if header.size < size then size = header.size end
    end
    local is_cut = size < header.size
    if is_cut and reported - header.length == header.size then
        item:add_proto_expert_info(E.cut, plain(size) .. " of " .. plain(header.size) .. " bytes were recorded")
    end
    if header.version < 1 or header.version > 5 or header.type > CONSECUTIVE then
        if size > 0 then put(item, F.payload, buffer, offset, size) end
        text = line(header, record, "✗", "malformed: " .. (problem or ""))
    elseif header.type == CONTROL then
        text = show_control(buffer, offset, is_cut and 0 or size, header, record, item, item)
    elseif header.type ~= SINGLE then
        text = show_part(buffer, offset, size, header, record, pinfo, item, item)
    elseif header.encrypted or is_cut or not SERVICES[header.service] or header.service == 10 or header.service == 11
    then
        if size > 0 then put(item, F.payload, buffer, offset, size) end
        text = line(header, record, nil, service_name(header.service), header.encrypted and "encrypted",
            size_text(header.size))
    elseif header.service == 0 then
        text = show_query(buffer, offset, size, header, record, item, item)
    else
        text = show_rpc(buffer, offset, size, header.version, header, record, pinfo, item, item)
    end
    -- A registration tells the name of its own app.
    if record.is_new then record.kept.app_name = record.kept.app_name or names[name_key] end

    if record.app then note(item, F.app, record.app) end
    if record.kept.app_name then note(item, F.app_name, record.kept.app_name) end
    if record.from_app ~= nil then note(item, F.from_app, record.from_app) end
    local words = show_fate(item, item, record)
    if words then text = text .. "  (" .. words .. ")" end
    show_columns(pinfo, record)
    return text
end

-- MARK: Packets

-- Sets the Info column; behind what frames before in this packet have said.
local function tell(pinfo, text)
    local before = pinfo.private["sdl_info"]
    if before then text = before .. " | " .. text end
    if #text > MAXIMUM_INFO then
        local cut = MAXIMUM_INFO
        -- Never in the middle of a character.
        while cut > 0 and text:byte(cut + 1) >= 0x80 and text:byte(cut + 1) < 0xC0 do cut = cut - 1 end
        text = text:sub(1, cut)
    end
    pinfo.private["sdl_info"] = text
    pinfo.cols.protocol = "SDL"
    pinfo.cols.info = text
end

local function show_garbage(buffer, offset, pinfo, root)
    local length = buffer:len() - offset
    local item = root:add(sdl, range_of(buffer, offset, length))
    put(item, F.garbage, buffer, offset, length)
    item:add_proto_expert_info(E.malformed, "These bytes are no SDL frame")
    tell(pinfo, "· " .. plain(length) .. " bytes that are no frame")
end

-- Frames out of a TCP stream, whatever the segments; returns 0 when it is no SDL.
local function show_stream(buffer, pinfo, root, stream)
    local length, offset = buffer:len(), 0
    if strangers[pinfo.number] then return 0 end
    while offset < length do
        local header, problem = header_of(bytes_of(buffer, offset, 12))
        if problem then
            if not streams[stream] then
                if not pinfo.visited then strangers[pinfo.number] = true end
                return 0
            end
            show_garbage(buffer, offset, pinfo, root)
            return length
        end
        local whole = header and header.size and header.length + header.size
        if not whole or offset + whole > length then
            if (pinfo.can_desegment or 0) > 0 then
                pinfo.desegment_offset = offset
                pinfo.desegment_len = whole and offset + whole - length or DESEGMENT_ONE_MORE_SEGMENT
                return length
            end
            whole = length - offset
        end
        if not pinfo.visited then streams[stream] = streams[stream] or {} end
        tell(pinfo, show_frame(buffer:range(offset, whole):tvb(), pinfo, root))
        offset = offset + whole
    end
    return length
end

-- Whatever happens, Wireshark gets a packet with an explanation and no error of Lua's.
local function guarded(proto, bug, show)
    return function(buffer, pinfo, root)
        local ok, result = pcall(show, buffer, pinfo, root)
        if ok then return result end
        pinfo.cols.info = "the dissector failed: " .. clean(tostring(result), 200)
        root:add(proto, range_of(buffer, 0, buffer:len())):add_proto_expert_info(bug, clean(tostring(result), 200))
        return buffer:len()
    end
end

sdl.dissector = guarded(sdl, E.bug, function(buffer, pinfo, root)
    local stream = value_of(stream_of)
    if stream then return show_stream(buffer, pinfo, root, stream) end
    tell(pinfo, show_frame(buffer, pinfo, root))
    return buffer:len()
end)

-- MARK: Records of relayd

local function list_text(value)
    local parts = {}
    for _, one in ipairs(value.array or {}) do parts[#parts + 1] = scalar(one) and clean(scalar(one), 200) or "…" end
    return table.concat(parts, ",")
end

local function amount(value, thing)
    local count = integer(value)
    if count then return plain(count) .. " " .. thing .. (count == 1 and "" or "s") end
end

local function record_words(kind, record)
    local function text(name)
        local value = member(record, name)
        return scalar(value) and clean(scalar(value), 300) or ""
    end
    local app = text("app") ~= "" and "app " .. text("app") or "head unit"
    if kind == "trace" then return "trace of " .. text("accessory") .. ", " .. text("program") .. ", file " .. text("file") end
    if kind == "link_opened" then return "link " .. text("number") .. " opened: " .. text("address") end
    if kind == "link_closed" then return "link closed: " .. text("reason") end
    if kind == "app_connected" then return app .. " connected from " .. text("peer") end
    if kind == "app_left" then return app .. " left: " .. text("reason") end
    if kind == "start_sent" then return app .. ": its StartService is sent to the head unit" end
    if kind == "session_ended" then return app .. ": session " .. text("session") .. " ended" end
    if kind == "service_ended" then return app .. ": " .. text("service") .. " of session " .. text("session") .. " ended" end
    if kind == "notice" or kind == "advice" then
        return app .. ": " .. text("text") .. " (" .. kind .. " " .. text("code") .. ")"
    end
    if kind == "mark" then return "mark: " .. text("text") end
    if kind == "gap" then
        return "gap: " .. (amount(member(record, "frames"), "frame") or "frames") .. ", "
            .. (amount(member(record, "bytes"), "byte") or "bytes") .. " passed and are not in the trace"
    end
    if kind == "end" then return "end of the file: " .. text("reason") end
    return clean(kind, 100)
end

relayd.dissector = guarded(relayd, RE.bug, function(buffer, pinfo, root)
    local length = buffer:len()
    local item = root:add(relayd, range_of(buffer, 0, length))
    pinfo.cols.protocol = "relayd"
    local record, problem = json_object_of(bytes_of(buffer, 0, length))
    local kind = record and member(record, "record")
    kind = type(kind) == "table" and kind.text
    if not kind then
        item:add_proto_expert_info(RE.malformed, "It cannot be read: " .. (problem or "it has no record"))
        pinfo.cols.info = "✗ malformed record"
        return length
    end
    local all = range_of(buffer, 0, length)
    for _, key in ipairs(record.keys) do
        local value = record.object[key]
        local target = R[key]
        local text = scalar(value) or (type(value) == "table" and value.array and list_text(value))
        local number = type(value) == "table" and value.number and tonumber(value.number)
        if not text then
            item:add(all, clean(key, 100) .. ": …")
        elseif not target then
            item:add(all, clean(key, 100) .. ": " .. clean(text, 500))
        elseif key == "frames" or key == "bytes" or key == "missed_frames" then
            if number then item:add(target, all, number) end
        elseif target == R.app or target == R.session or target == R.number or target == R.version or target == R.file then
            if number and number >= 0 and number <= 4294967295 and number % 1 == 0 then item:add(target, all, number) end
        else
            item:add(target, all, clean(text, 2000))
        end
    end
    -- What is missing may be a part of any message.
    if kind == "gap" and not pinfo.visited then
        for _, message in pairs(partial) do message.problem = "the trace has a gap before it was whole" end
        partial = {}
    end
    local words = record_words(kind, record)
    if kind == "gap" then item:add_proto_expert_info(RE.gap, words) end
    if kind == "advice" then item:add_proto_expert_info(RE.advice, words) end
    if kind == "notice" then item:add_proto_expert_info(RE.notice, words) end
    item:append_text(", " .. clean(kind, 100))
    pinfo.cols.info = "· " .. words
    pinfo.cols.src = "relayd"
    return length
end)

-- MARK: Where SDL is found

-- Traces name the dissector; on TCP these are relayd's port and sdl_core's.
local tcp_ports = DissectorTable.get("tcp.port")
tcp_ports:add(2776, sdl)
tcp_ports:add(12345, sdl)

-- On other ports a connection is known by its first frame: a StartService for RPCs and a new session.
sdl:register_heuristic("tcp", function(buffer, pinfo, root)
    local header, problem = header_of(bytes_of(buffer, 0, 12))
    if not header or problem or not header.size or header.type ~= CONTROL or header.info ~= 0x01
        or header.service ~= 7 or header.session ~= 0 or header.encrypted or header.size > 1024
        or header.length + header.size ~= buffer:len() then
        return false
    end
    pinfo.conversation = sdl
    sdl.dissector(buffer, pinfo, root)
    return true
end)
