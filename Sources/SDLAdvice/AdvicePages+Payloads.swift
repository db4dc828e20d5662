// Pages about files, streams and messages of several frames. See `AdviceCode`.

extension AdvicePage {
    static let putFileCRC = AdvicePage(
        title: "PutFile with a wrong CRC",
        cause: """
            The crc of a PutFile is not the CRC-32 of its bulk data.
            """,
        remedy: """
            Compute crc over the bytes of this request, not of the whole file.
            """,
        details: """
            It is the CRC-32 of IEEE 802.3, as zlib and PNG have it, as an unsigned number, over \
            the bulk data of each request on its own. The head unit answers CORRUPTED_DATA and \
            keeps nothing. Leaving crc out is allowed.
            """)

    static let putFileLength = AdvicePage(
        title: "PutFile whose length and data disagree",
        cause: """
            The length of a PutFile is not what its bulk data has, or there is no bulk data.
            """,
        remedy: """
            In the first chunk (offset 0) length is the size of the whole file, in every other one \
            the size of that chunk.
            """,
        details: """
            offset counts the bytes sent before. A PutFile without bulk data is answered with \
            INVALID_DATA: the bytes belong behind the JSON of the same message, on service 0x0F \
            or 0x07. With a wrong length the head unit waits for more, or cuts the file.
            """)

    static let streamNotAllowed = AdvicePage(
        title: "streaming while it is not allowed",
        cause: """
            The app goes on sending video while the head unit says NOT_STREAMABLE, or audio while \
            it says NOT_AUDIBLE.
            """,
        remedy: """
            Stop sending when OnHMIStatus says so, and go on when it says STREAMABLE or AUDIBLE.
            """,
        details: """
            The states are in OnHMIStatus: videoStreamingState and audioStreamingState. What is \
            sent in spite of them is thrown away; sdl_core also ends the service, and unregisters \
            an app that does not confirm that within a second (PROTOCOL_VIOLATION).
            """)

    static let streamNotStarted = AdvicePage(
        title: "stream data without a running service",
        cause: """
            The app sends audio or video although that service of its session was not started, or \
            has ended.
            """,
        remedy: """
            Send StartService for the service and wait for its ACK; stop at EndService.
            """,
        details: """
            Audio is service 0x0A, video 0x0B, both with the session ID of the RPC service. \
            sdl_core unregisters the app with PROTOCOL_VIOLATION.
            """)

    static let messageGap = AdvicePage(
        title: "a gap in the middle of a message",
        cause: """
            A message of several frames stopped: for 10 s no further frame came.
            """,
        remedy: """
            Look at the side that was sending; the advice names it.
            """,
        details: """
            sdl_core gives such a message up after 10 s (ExpectedConsecutiveFramesTimeout) and \
            handles what has arrived, which mostly is no RPC. Frames of other sessions may come in \
            between, but those of one message have to keep coming.
            """)

    static let messageBroken = AdvicePage(
        title: "a message whose frames do not fit together",
        cause: """
            The frames of a message are not in order, not as many as announced, or not as many \
            bytes as announced.
            """,
        remedy: """
            Number consecutive frames 1 to 255, then 1 again, and give the last one 0. Announce in \
            the first frame the bytes and frames that follow.
            """,
        details: """
            The first frame carries two 32-bit numbers: all payload bytes, and the number of \
            consecutive frames. Two messages of several frames may not be mixed within a session: \
            most receivers keep only one per session.
            """)

    static let leftInMessage = AdvicePage(
        title: "a message was left half sent",
        cause: """
            An earlier run of this app ended before it had sent the last frame of a message, for \
            instance of a PutFile. Or the app ended its session, or began another message with the \
            same message ID, in the middle of one, or paused in it for 10 s or more.
            """,
        remedy: """
            Upload again what was being sent, and see why the message was not finished.
            """,
        details: """
            What a program stopped in a debugger, or killed, was sending is not on the head unit. \
            sdl_core keeps the half for 10 s and would add the next run's frames to it: files arrive \
            wrong then. relayd therefore ends the half message before it says goodbye, and keeps the \
            head unit's answer to it from the next run.
            """)

    static let messageRefused = AdvicePage(
        title: "a message that relayd does not pass on",
        cause: """
            The app began a message of 0 bytes, announced one larger than `apps.message_limit`, or \
            sent a frame larger than the head unit takes. relayd closed the app.
            """,
        remedy: """
            Send no empty messages, split files into several PutFiles, and keep frames within the \
            mtu of the StartServiceACK. A control frame needs some hundred bytes.
            """,
        details: """
            All apps share one link, and each of these harms the others there. After a first frame \
            that announces 0 bytes, sdl_core never reads the link again. It reserves the memory that \
            is announced at once. Frames beyond the mtu count as malformed, and after ten it closes \
            the link. A car would have done the same to this app alone.
            """)
}
