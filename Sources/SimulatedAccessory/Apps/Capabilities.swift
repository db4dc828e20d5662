import SDLProtocol

/// What the simulated head unit offers an app of a given RPC version, in the terms of MOBILE_API 8.0.0: texts,
/// images, buttons, streaming, permissions.
struct Capabilities {
    static let rpcVersion = SDLVersion(8, 0, 0)
    static let language = "EN-US"
    static let modelYear = "2026"
    static let trim = "Bench"
    static let softwareVersion = "1.0"
    static let hardwareVersion = "none"

    /// The negotiated version: older apps do not know newer names.
    let rpcVersion: SDLVersion
    /// The layout of the app's screen.
    let template: Template

    // MARK: Responses

    /// Everything in a RegisterAppInterface response besides its result.
    func registration(make: String, model: String) -> JSON {
        let basics: JSON = [
            "syncMsgVersion": [
                "majorVersion": .integer(Int64(rpcVersion.major)),
                "minorVersion": .integer(Int64(rpcVersion.minor)),
                "patchVersion": .integer(Int64(rpcVersion.patch)),
            ],
            "language": .string(Self.language),
            "hmiDisplayLanguage": .string(Self.language),
            "vehicleType": [
                "make": .string(make), "model": .string(model),
                "modelYear": .string(Self.modelYear), "trim": .string(Self.trim),
            ],
            "systemSoftwareVersion": .string(Self.softwareVersion),
            "sdlVersion": "simulated",
            "iconResumed": false,
        ]
        let features: JSON = [
            "hmiZoneCapabilities": ["FRONT"],
            "speechCapabilities": ["TEXT"],
            "prerecordedSpeech": ["HELP_JINGLE", "INITIAL_JINGLE", "LISTEN_JINGLE"],
            "vrCapabilities": ["TEXT"],
            "audioPassThruCapabilities": [
                Self.pcm("8KHZ", "8_BIT"), Self.pcm("16KHZ", "16_BIT"), Self.pcm("44KHZ", "16_BIT"),
            ],
            "pcmStreamCapabilities": Self.pcm("16KHZ", "16_BIT"),
            "supportedDiagModes": [1, 2, 3, 5, 6, 7, 9, 10, 24, 25, 34, 62],
            "hmiCapabilities": [
                "navigation": false, "phoneCall": false, "videoStreaming": true,
                "remoteControl": false, "appServices": false, "displays": true,
                "seatLocation": false, "driverDistraction": true,
            ],
        ]
        return basics.merging(display).merging(features)
    }

    /// The display in its form before RPC 6, for the responses of RegisterAppInterface and SetDisplayLayout.
    var display: JSON {
        let parts: JSON = [
            "displayCapabilities": [
                "displayType": rpcVersion.major >= 5 ? "SDL_GENERIC" : "GEN2_8_DMA",
                "displayName": "SIMULATED",
                "textFields": textFields,
                "imageFields": imageFields,
                "mediaClockFormats": ["CLOCK1", "CLOCK2", "CLOCK3", "CLOCKTEXT1", "CLOCKTEXT2"],
                "graphicSupported": true,
                "templatesAvailable": .array(Template.names.map(JSON.string)),
                "screenParams": [
                    "resolution": Self.resolution,
                    "touchEventAvailable": [
                        "pressAvailable": true, "multiTouchAvailable": true,
                        "doublePressAvailable": false,
                    ],
                ],
                "numCustomPresetsAvailable": 10,
            ],
            "buttonCapabilities": Self.buttons,
            "presetBankCapabilities": ["onScreenPresetsAvailable": true],
        ]
        return parts.merging(softButtons.map { ["softButtonCapabilities": $0] } ?? [:])
    }

    /// The answer to GetSystemCapability; nil for what the car does not have.
    func system(_ type: String) -> JSON? {
        switch type {
        case "DISPLAYS": displays
        case "VIDEO_STREAMING":
            [
                "systemCapabilityType": "VIDEO_STREAMING",
                "videoStreamingCapability": [
                    "preferredResolution": Self.resolution, "maxBitrate": 10_000,
                    "supportedFormats": [
                        ["protocol": "RAW", "codec": "H264"], ["protocol": "RTP", "codec": "H264"],
                    ],
                    "hapticSpatialDataSupported": false, "diagonalScreenSize": 8.0,
                    "pixelPerInch": 117.0, "scale": 1.0, "preferredFPS": 30,
                ],
            ]
        case "DRIVER_DISTRACTION":
            [
                "systemCapabilityType": "DRIVER_DISTRACTION",
                "driverDistractionCapability": ["menuLength": 50, "subMenuDepth": 3],
            ]
        case "NAVIGATION":
            [
                "systemCapabilityType": "NAVIGATION",
                "navigationCapability": [
                    "sendLocationEnabled": false, "getWayPointsEnabled": false,
                ],
            ]
        case "PHONE_CALL":
            [
                "systemCapabilityType": "PHONE_CALL",
                "phoneCapability": ["dialNumberEnabled": false],
            ]
        default: nil
        }
    }

    /// The display in its form from RPC 6 on, which the libraries' screen managers wait for.
    var displays: JSON {
        var window: JSON = [
            "windowID": 0,
            "textFields": textFields,
            "imageFields": imageFields,
            "imageTypeSupported": ["STATIC", "DYNAMIC"],
            "templatesAvailable": .array(Template.names.map(JSON.string)),
            "numCustomPresetsAvailable": 10,
            "buttonCapabilities": Self.buttons,
            "menuLayoutsAvailable": ["LIST", "TILES"],
        ]
        if let softButtons { window = window.merging(["softButtonCapabilities": softButtons]) }
        return [
            "systemCapabilityType": "DISPLAYS",
            "displayCapabilities": [
                [
                    "displayName": "SIMULATED",
                    "windowTypeSupported": [["type": "MAIN", "maximumNumberOfWindows": 1]],
                    "windowCapabilities": [window],
                ]
            ],
        ]
    }

    // MARK: Parts

    private static let resolution: JSON = ["resolutionWidth": 800, "resolutionHeight": 480]

    static let buttonNames =
        ["OK", "PLAY_PAUSE", "SEEKLEFT", "SEEKRIGHT", "TUNEUP", "TUNEDOWN"]
        + (0...9).map { "PRESET_\($0)" }

    private static let buttons: JSON = .array(
        buttonNames.map { name in
            [
                "name": .string(name), "shortPressAvailable": true,
                "longPressAvailable": true, "upDownAvailable": true,
            ]
        })

    private static func pcm(_ samplingRate: JSON, _ bitsPerSample: JSON) -> JSON {
        ["samplingRate": samplingRate, "bitsPerSample": bitsPerSample, "audioType": "PCM"]
    }
}
