-- Runs the dissector under a Lua that tshark here does not have: later versions of Wireshark have others.
-- As much of Wireshark's Lua API as the dissector uses, and stricter: reading beyond the end of a buffer and
-- numbers that are no integers are errors.
--
-- usage: luaVERSION fake_wireshark.lua SDL.LUA <FRAMES
--
-- FRAMES has a line for each packet of app 1: dissector, direction (1 or 2), seconds, nanoseconds, bytes in
-- hex. Prints the Info column of each, and once more of each as it is seen a second time.

local function anything()
    return setmetatable({}, { __index = anything, __call = anything })
end

-- Lua 5.3 and later tell integers from floats of the same value; Wireshark takes floats for no integer.
local function check_integer(value, what)
    local is_integer = value == math.floor(value) and (not math.type or math.type(value) == "integer")
    assert(is_integer, what .. " is " .. tostring(value) .. ", which is no integer")
end

local Tvb, Range = {}, {}
Tvb.__index, Range.__index = Tvb, Range
local function tvb(bytes) return setmetatable({ bytes = bytes }, Tvb) end
function Tvb:len() return #self.bytes end
function Tvb:reported_len() return #self.bytes end
function Tvb:raw(offset, length)
    assert(offset >= 0 and length > 0 and offset + length <= #self.bytes, "raw: out of bounds")
    return self.bytes:sub(offset + 1, offset + length)
end
function Tvb:range(offset, length)
    assert(offset >= 0 and length >= 0 and offset + length <= #self.bytes, "range: out of bounds")
    return setmetatable({ bytes = self.bytes:sub(offset + 1, offset + length) }, Range)
end
function Range:len() return #self.bytes end
function Range:tvb() return tvb(self.bytes) end

local Item = {}
Item.__index = Item
local root = setmetatable({}, Item)
function Item:add(field, first, second)
    local value = second
    if type(first) == "number" then value = first end
    if type(value) == "number" and type(field.kind) == "string" and field.kind ~= "double" then
        check_integer(value, field.abbreviation)
    end
    return root
end
Item.add_le = Item.add
function Item:add_packet_field() return root, "", 0 end
function Item:set_generated() return self end
function Item:append_text(text)
    assert(type(text) == "string")
    return self
end
Item.set_text = Item.append_text
function Item:referenced() return true end
function Item:add_proto_expert_info(field, text)
    assert(field.is_expert and type(text) == "string")
    return self
end

base, frametype, ENC_UTF_8, ENC_NA = anything(), anything(), 2, 0
expert = { group = anything(), severity = anything() }
ProtoField = setmetatable({}, {
    __index = function(_, kind)
        return function(abbreviation) return { kind = kind, abbreviation = abbreviation } end
    end,
})
ProtoExpert = { new = function() return { is_expert = true } end }

local protocols = {}
Proto = setmetatable({}, {
    __call = function(_, name)
        protocols[name] = { register_heuristic = function() end }
        return protocols[name]
    end,
})

local Time = {}
Time.__sub = function(one, other)
    local span = (one.secs - other.secs) * 1000000000 + one.nsecs - other.nsecs
    local rest = math.fmod(span, 1000000000)
    return { secs = (span - rest) / 1000000000, nsecs = rest }
end
NSTime = {
    new = function(seconds, nanoseconds)
        check_integer(seconds, "seconds")
        check_integer(nanoseconds, "nanoseconds")
        return {}
    end,
}

local packet = {}
Field = {
    new = function(name)
        return function()
            if packet[name] ~= nil then return { value = packet[name] } end
        end
    end,
}
Dissector = { get = function() return { call = function() end } end }
DissectorTable = { get = function() return { add = function() end } end }
ByteArray = {
    new = function(bytes) return { tvb = function() return tvb(bytes) end } end,
}

dofile(arg[1])
local lines = {}
for line in io.stdin:lines() do lines[#lines + 1] = line end
protocols.sdl.init()
for _, is_visited in ipairs({ false, true }) do
    for number, line in ipairs(lines) do
        local name, direction, seconds, nanoseconds, hex = line:match("^(%a+) (%d) (%d+) (%d+) (%x*)$")
        local bytes = hex:gsub("..", function(pair) return string.char(tonumber(pair, 16)) end)
        packet = {
            ["frame.interface_id"] = 1, ["frame.interface_name"] = "app 1",
            ["frame.packet_flags_direction"] = tonumber(direction),
            ["frame.time_epoch"] = setmetatable({ secs = tonumber(seconds), nsecs = tonumber(nanoseconds) }, Time),
        }
        local pinfo = { number = number, visited = is_visited, private = {}, cols = {} }
        protocols[name].dissector(tvb(bytes), pinfo, root)
        print(pinfo.cols.info)
    end
end
