import CLibUSB

/// A libusb transfer with its buffer. The owner keeps a submitted transfer until it has returned, or until its
/// device is closed; after that libusb no longer touches it.
final class USBTransfer: Equatable {
    private let pointer: UnsafeMutablePointer<libusb_transfer>
    let buffer: UnsafeMutableRawBufferPointer
    /// Called on the thread that handles libusb's events.
    private let onReturn: (USBTransfer) -> Void

    /// Nil when there is no memory.
    init?(capacity: Int, onReturn: @escaping (USBTransfer) -> Void) {
        guard let pointer = libusb_alloc_transfer(0) else { return nil }
        self.pointer = pointer
        buffer = .allocate(byteCount: capacity, alignment: 16)
        self.onReturn = onReturn
        pointer.pointee.user_data = Unmanaged.passUnretained(self).toOpaque()
        pointer.pointee.callback = { pointer in
            guard let transfer = pointer?.pointee.user_data else { return }
            let own = Unmanaged<USBTransfer>.fromOpaque(transfer).takeUnretainedValue()
            own.onReturn(own)
        }
    }

    deinit {
        libusb_free_transfer(pointer)
        buffer.deallocate()
    }

    static func == (left: USBTransfer, right: USBTransfer) -> Bool { left === right }

    /// Submits a bulk transfer of these bytes of the buffer.
    ///
    /// - Parameter milliseconds: after which it returns with what it has moved; 0 for never.
    /// - Returns: a LIBUSB_ERROR code, 0 when it is under way.
    func submitBulk(
        _ handle: borrowing USBHandle, endpoint: UInt8, bytes: Range<Int>,
        endsWithEmptyPacket: Bool = false, milliseconds: UInt32 = 0
    ) -> CInt {
        prepare(handle, endpoint, LIBUSB_TRANSFER_TYPE_BULK, bytes, milliseconds: milliseconds)
        pointer.pointee.flags =
            endsWithEmptyPacket ? UInt8(LIBUSB_TRANSFER_ADD_ZERO_PACKET.rawValue) : 0
        return libusb_submit_transfer(pointer)
    }

    /// Submits a control transfer; its setup packet takes the first 8 bytes of the buffer.
    func submitControl(_ handle: borrowing USBHandle, _ request: USBControlRequest) -> CInt {
        let setup: [UInt8] = [
            request.type, request.request, 0, 0, UInt8(request.index & 0xFF),
            UInt8(request.index >> 8), UInt8(request.length & 0xFF), UInt8(request.length >> 8),
        ]
        buffer.copyBytes(from: setup + request.data)
        prepare(
            handle, 0, LIBUSB_TRANSFER_TYPE_CONTROL, 0..<Self.setupBytes + Int(request.length),
            milliseconds: USBControlRequest.limitMilliseconds)
        return libusb_submit_transfer(pointer)
    }

    /// Makes it return early; false when it has already returned.
    @discardableResult
    func cancel() -> Bool { libusb_cancel_transfer(pointer) == 0 }

    /// Bytes moved; valid once it has returned.
    var actualBytes: Int { Int(pointer.pointee.actual_length) }

    var status: libusb_transfer_status { pointer.pointee.status }

    var outcome: USBOutcome {
        switch status {
        case LIBUSB_TRANSFER_COMPLETED: .completed
        case LIBUSB_TRANSFER_TIMED_OUT: .timedOut
        case LIBUSB_TRANSFER_STALL: .stalled
        case LIBUSB_TRANSFER_CANCELLED: .cancelled
        case LIBUSB_TRANSFER_NO_DEVICE: .gone
        case LIBUSB_TRANSFER_OVERFLOW: .overflow
        default: .failed
        }
    }

    /// The outcome of a control transfer; its data follow the setup packet.
    var controlReply: USBControlReply {
        switch status {
        case LIBUSB_TRANSFER_COMPLETED:
            .done(Array(buffer[Self.setupBytes..<Self.setupBytes + actualBytes]))
        case LIBUSB_TRANSFER_STALL: .stalled
        case LIBUSB_TRANSFER_TIMED_OUT: .timedOut
        case LIBUSB_TRANSFER_NO_DEVICE: .gone
        case LIBUSB_TRANSFER_CANCELLED: .failed("the transfer was taken back")
        default: .failed("the transfer failed")
        }
    }

    /// The setup packet of a control transfer (USB 2.0, 9.3).
    static let setupBytes = 8

    private func prepare(
        _ handle: borrowing USBHandle, _ endpoint: UInt8, _ type: libusb_transfer_type,
        _ bytes: Range<Int>, milliseconds: UInt32
    ) {
        pointer.pointee.dev_handle = handle.raw
        pointer.pointee.flags = 0
        pointer.pointee.endpoint = endpoint
        pointer.pointee.type = UInt8(type.rawValue)
        pointer.pointee.timeout = milliseconds
        pointer.pointee.buffer = buffer.baseAddress.map {
            $0.assumingMemoryBound(to: UInt8.self) + bytes.lowerBound
        }
        pointer.pointee.length = CInt(bytes.count)
    }
}
