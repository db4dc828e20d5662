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
            It is the CRC-32 of IEEE 802.3, the same as in zlib and PNG, as an unsigned number, \
            over the bulk data of each request on its own. The head unit answers CORRUPTED_DATA \
            and keeps nothing. Leaving crc out is allowed.
            """)

    static let putFileLength = AdvicePage(
        title: "PutFile whose length and data disagree",
        cause: """
            The length of a PutFile does not match its bulk data, or there is no bulk data.
            """,
        remedy: """
            In the first chunk (offset 0), length is the size of the whole file; in every other \
            chunk, the size of that chunk.
            """,
        details: """
            offset counts the bytes sent before. A PutFile without bulk data is answered with \
            INVALID_DATA: the bytes belong after the JSON in the same message, on service 0x0F \
            or 0x07. With a wrong length the head unit waits for more, or cuts the file.
            """)

    static let streamNotAllowed = AdvicePage(
        title: "streaming while it is not allowed",
        cause: """
            The app continues to send video while the head unit says NOT_STREAMABLE, or audio \
            while it says NOT_AUDIBLE.
            """,
        remedy: """
            Stop sending when OnHMIStatus says so, and continue when it says STREAMABLE or \
            AUDIBLE.
            """,
        details: """
            The states are in OnHMIStatus: videoStreamingState and audioStreamingState. The head \
            unit discards what is sent in spite of them; sdl_core also ends the service, and \
            unregisters an app that does not confirm that within a second (PROTOCOL_VIOLATION).
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
            sdl_core gives up such a message after 10 s (ExpectedConsecutiveFramesTimeout) and \
            handles what has arrived, which usually is not a valid RPC. Frames of other sessions \
            may come in between, but those of one message must keep coming.
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
            consecutive frames. Two messages of several frames must not be mixed within a \
            session, because most receivers keep only one per session.
            """)

    static let leftInMessage = AdvicePage(
        title: "a message was left half sent",
        cause: """
            An earlier run of this app ended before it had sent the last frame of a message, for \
            instance of a PutFile. Or the app ended its session, or began another message with the \
            same message ID, in the middle of one, or paused in it for 10 s or more.
            """,
        remedy: """
            Send it again, and find out why the message was not finished.
            """,
        details: """
            The message has not arrived on the head unit. sdl_core keeps the first half for 10 s \
            and would append the next run's frames to it, so that files would be wrong. relayd \
            therefore ends the half message before it ends the session, and keeps the head \
            unit's answer to it from the next run.
            """)

    static let messageRefused = AdvicePage(
        title: "a message that relayd does not pass on",
        cause: """
            The app began a message of 0 bytes, announced one larger than `apps.message_limit`, or \
            sent a frame larger than the head unit takes. relayd closed the app.
            """,
        remedy: """
            Send no empty messages, split files into several PutFiles, and keep frames within \
            the mtu of the StartServiceACK. A control frame needs no more than a few hundred \
            bytes.
            """,
        details: """
            All apps share one link, and each of these harms the others there. After a first \
            frame that announces 0 bytes, sdl_core never reads the link again. It reserves the \
            announced memory at once. Frames beyond the mtu count as malformed, and after ten of \
            them it closes the link. In a car, only this app would have been affected.
            """)
}
