import SDLProtocol

/// What the simulated head unit has to offer an app of some RPC version, in the words of MOBILE_API
/// 8.0.0: texts, images, buttons, streaming, permissions.
struct Capabilities {
    static let rpcVersion = SDLVersion(8, 0, 0)
    static let language = "EN-US"
    static let modelYear = "2026"
    static let trim = "Bench"
    static let softwareVersion = "1.0"
    static let hardwareVersion = "none"

    /// The version agreed on: older apps do not know newer words.
    let rpcVersion: SDLVersion

    // MARK: Responses

    /// Everything a RegisterAppInterface response tells besides its result.
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

    /// The display as before RPC 6, in the responses of RegisterAppInterface and SetDisplayLayout.
    var display: JSON {
        [
            "displayCapabilities": [
                "displayType": rpcVersion.major >= 5 ? "SDL_GENERIC" : "GEN2_8_DMA",
                "displayName": "SIMULATED",
                "textFields": textFields,
                "imageFields": imageFields,
                "mediaClockFormats": ["CLOCK1", "CLOCK2", "CLOCK3", "CLOCKTEXT1", "CLOCKTEXT2"],
                "graphicSupported": true,
                "templatesAvailable": Self.templates,
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
            "softButtonCapabilities": [Self.softButtons],
            "presetBankCapabilities": ["onScreenPresetsAvailable": true],
        ]
    }

    /// The answer to GetSystemCapability, nil for what the car does not have.
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

    /// The display as from RPC 6 on, which the libraries' screen managers wait for.
    var displays: JSON {
        [
            "systemCapabilityType": "DISPLAYS",
            "displayCapabilities": [
                [
                    "displayName": "SIMULATED",
                    "windowTypeSupported": [["type": "MAIN", "maximumNumberOfWindows": 1]],
                    "windowCapabilities": [
                        [
                            "windowID": 0,
                            "textFields": textFields,
                            "imageFields": imageFields,
                            "imageTypeSupported": ["STATIC", "DYNAMIC"],
                            "templatesAvailable": Self.templates,
                            "numCustomPresetsAvailable": 10,
                            "buttonCapabilities": Self.buttons,
                            "softButtonCapabilities": [Self.softButtons],
                            "menuLayoutsAvailable": ["LIST", "TILES"],
                        ]
                    ],
                ]
            ],
        ]
    }

    // MARK: Parts

    private var textFields: JSON {
        // UTF_8 came with RPC 7; before, every head unit claimed one of two Ford sets.
        let characterSet: JSON = rpcVersion.major >= 7 ? "UTF_8" : "TYPE2SET"
        let names = [
            "mainField1", "mainField2", "mainField3", "mainField4", "statusBar", "mediaClock",
            "mediaTrack", "templateTitle", "alertText1", "alertText2", "alertText3",
            "scrollableMessageBody", "initialInteractionText", "navigationText1",
            "navigationText2", "ETA", "totalDistance", "sliderHeader", "sliderFooter", "menuName",
            "secondaryText", "tertiaryText", "menuTitle",
        ]
        return .array(
            names.map { name in
                [
                    "name": .string(name), "characterSet": characterSet, "width": 500, "rows": 1,
                ]
            })
    }

    private var imageFields: JSON {
        let names = [
            "softButtonImage", "choiceImage", "choiceSecondaryImage", "vrHelpItem", "turnIcon",
            "menuIcon", "cmdIcon", "appIcon", "graphic", "secondaryGraphic", "alertIcon",
        ]
        return .array(
            names.map { name in
                [
                    "name": .string(name),
                    "imageTypeSupported": ["GRAPHIC_BMP", "GRAPHIC_JPEG", "GRAPHIC_PNG"],
                    "imageResolution": ["resolutionWidth": 64, "resolutionHeight": 64],
                ]
            })
    }

    private static let resolution: JSON = ["resolutionWidth": 800, "resolutionHeight": 480]

    private static let templates: JSON = [
        "DEFAULT", "MEDIA", "NON-MEDIA", "LARGE_GRAPHIC_ONLY", "TEXT_WITH_GRAPHIC",
        "GRAPHIC_WITH_TEXT", "TEXTBUTTONS_ONLY", "TILES_ONLY", "NAV_FULLSCREEN_MAP",
    ]

    private static let buttons: JSON = .array(
        (["OK", "PLAY_PAUSE", "SEEKLEFT", "SEEKRIGHT", "TUNEUP", "TUNEDOWN"]
            + (0...9).map { "PRESET_\($0)" })
            .map { name in
                [
                    "name": .string(name), "shortPressAvailable": true,
                    "longPressAvailable": true, "upDownAvailable": true,
                ]
            })

    private static let softButtons: JSON = [
        "shortPressAvailable": true, "longPressAvailable": true, "upDownAvailable": true,
        "imageSupported": true, "textSupported": true,
    ]

    private static func pcm(_ samplingRate: JSON, _ bitsPerSample: JSON) -> JSON {
        ["samplingRate": samplingRate, "bitsPerSample": bitsPerSample, "audioType": "PCM"]
    }

    // MARK: Permissions

    /// Every app may do everything at every HMI level.
    static let permissions: JSON = [
        "permissionItem": .array(
            FunctionID.all.filter { $0.id != .genericResponse }.map(permission))
    ]

    private static let vehicleDataFunctions: Set<FunctionID> = [
        .subscribeVehicleData, .unsubscribeVehicleData, .getVehicleData, .onVehicleData,
    ]

    private static func permission(_ id: FunctionID, _ name: String) -> JSON {
        let items = vehicleDataFunctions.contains(id) ? Vehicle.itemTypes.keys.sorted() : []
        return [
            "rpcName": .string(name),
            "hmiPermissions": [
                "allowed": ["BACKGROUND", "FULL", "LIMITED", "NONE"], "userDisallowed": [],
            ],
            "parameterPermissions": [
                "allowed": .array(items.map(JSON.string)), "userDisallowed": [],
            ],
        ]
    }
}
