import Glibc

/// The car around the head unit, on a round trip of two minutes: the readings of its sensors at each moment. The
/// moment is a plain number, so that tests can repeat it.
struct Vehicle: Sendable {
    /// Moments that have passed, one per OnVehicleData interval.
    var moment = 0

    /// Items of MOBILE_API's vehicle data and their types, each in a form that a response can carry. Items without
    /// a value below are known, but this car does not have them.
    static let itemTypes: [String: String] = [
        "gps": "VEHICLEDATA_GPS", "speed": "VEHICLEDATA_SPEED", "rpm": "VEHICLEDATA_RPM",
        "fuelLevel": "VEHICLEDATA_FUELLEVEL", "fuelLevel_State": "VEHICLEDATA_FUELLEVEL_STATE",
        "instantFuelConsumption": "VEHICLEDATA_FUELCONSUMPTION",
        "fuelRange": "VEHICLEDATA_FUELRANGE", "climateData": "VEHICLEDATA_CLIMATEDATA",
        "externalTemperature": "VEHICLEDATA_EXTERNTEMP",
        "turnSignal": "VEHICLEDATA_TURNSIGNAL", "gearStatus": "VEHICLEDATA_GEARSTATUS",
        "prndl": "VEHICLEDATA_PRNDL", "tirePressure": "VEHICLEDATA_TIREPRESSURE",
        "odometer": "VEHICLEDATA_ODOMETER", "beltStatus": "VEHICLEDATA_BELTSTATUS",
        "bodyInformation": "VEHICLEDATA_BODYINFO", "deviceStatus": "VEHICLEDATA_DEVICESTATUS",
        "driverBraking": "VEHICLEDATA_BRAKING", "wiperStatus": "VEHICLEDATA_WIPERSTATUS",
        "headLampStatus": "VEHICLEDATA_HEADLAMPSTATUS",
        "engineTorque": "VEHICLEDATA_ENGINETORQUE", "accPedalPosition": "VEHICLEDATA_ACCPEDAL",
        "steeringWheelAngle": "VEHICLEDATA_STEERINGWHEEL",
        "engineOilLife": "VEHICLEDATA_ENGINEOILLIFE",
        "electronicParkBrakeStatus": "VEHICLEDATA_ELECTRONICPARKBRAKESTATUS",
        "cloudAppVehicleID": "VEHICLEDATA_CLOUDAPPVEHICLEID",
        "stabilityControlsStatus": "VEHICLEDATA_STABILITYCONTROLSSTATUS",
        "eCallInfo": "VEHICLEDATA_ECALLINFO", "airbagStatus": "VEHICLEDATA_AIRBAGSTATUS",
        "emergencyEvent": "VEHICLEDATA_EMERGENCYEVENT",
        "clusterModeStatus": "VEHICLEDATA_CLUSTERMODESTATUS", "myKey": "VEHICLEDATA_MYKEY",
        "windowStatus": "VEHICLEDATA_WINDOWSTATUS",
        "handsOffSteering": "VEHICLEDATA_HANDSOFFSTEERING",
        "seatOccupancy": "VEHICLEDATA_SEATOCCUPANCY",
    ]

    /// The current value of an item; nil when the car does not measure it.
    func value(of item: String) -> JSON? {
        switch item {
        case "gps": gps
        case "speed": .number(speed)
        case "rpm": .integer(800 + Int64(speed * 26))
        case "fuelLevel": .number(72.5)
        case "fuelLevel_State": "NORMAL"
        case "instantFuelConsumption": .number((50 + speed).rounded())
        case "externalTemperature": .number(18.5)
        case "turnSignal": "OFF"
        case "prndl": speed > 0 ? "DRIVE" : "PARK"
        case "gearStatus":
            [
                "userSelectedGear": speed > 0 ? "DRIVE" : "PARK",
                "actualGear": speed > 0 ? "THIRD" : "PARK", "transmissionType": "AUTOMATIC",
            ]
        case "odometer": .integer(12_345 + Int64(moment / 120))
        case "driverBraking": slope < 0 ? "YES" : "NO"
        case "wiperStatus": "OFF"
        case "headLampStatus": ["lowBeamsOn": true, "highBeamsOn": false]
        case "engineTorque": .number(120)
        case "accPedalPosition": .number(slope > 0 ? 30 : 0)
        case "steeringWheelAngle": .number(15)
        case "engineOilLife": .number(87)
        case "electronicParkBrakeStatus": speed > 0 ? "OPEN" : "CLOSED"
        case "handsOffSteering": false
        // Can be read, but not subscribed to.
        case "vin": "1SDLRELAY00000001"
        default: nil
        }
    }

    /// Seconds of a round trip, and the car's position in it: 0…1.
    private static let tripMoments = 120
    private var progress: Double { Double(moment % Self.tripMoments) / Double(Self.tripMoments) }

    /// Speed in km/h: up from standstill and down again, with one decimal.
    private var speed: Double { ((1 - cos(2 * .pi * progress)) * 600).rounded() / 10 }
    /// Accelerates in the first half of the trip, brakes in the second.
    private var slope: Double { progress < 0.5 ? 1 : -1 }

    /// A circle of a kilometre around a point in the countryside; six decimals are 10 cm.
    private var gps: JSON {
        let angle = 2 * Double.pi * progress
        func coordinate(_ value: Double) -> JSON {
            .number((value * 1_000_000).rounded() / 1_000_000)
        }
        let directions: [JSON] = [
            "NORTH", "NORTHEAST", "EAST", "SOUTHEAST", "SOUTH", "SOUTHWEST", "WEST", "NORTHWEST",
        ]
        return [
            "longitudeDegrees": coordinate(8.509 - 0.0133 * cos(angle)),
            "latitudeDegrees": coordinate(47.391 + 0.009 * sin(angle)),
            "utcYear": 2026, "utcMonth": 6, "utcDay": 21,
            "utcHours": .integer(Int64(moment / 3600 % 24)),
            "utcMinutes": .integer(Int64(moment / 60 % 60)),
            "utcSeconds": .integer(Int64(moment % 60)),
            "compassDirection": directions[Int(progress * 8) % 8],
            "pdop": 1.8, "hdop": 1.1, "vdop": 1.4, "actual": true, "satellites": 9,
            "dimension": "3D", "altitude": 410, "heading": .number((progress * 360).rounded()),
            "speed": .number(speed),
        ]
    }
}
