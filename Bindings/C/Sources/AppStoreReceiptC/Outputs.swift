@_spi(Surfaces) import AppStoreReceipt
import CAppStoreReceipt
import LargeMemory

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension Status {
    static func of(_ error: VerificationError) -> asr_status {
        switch error.fault.party {
        case .client, .forger: refused
        case .library, .host: host
        case .configuration: configuration
        }
    }
}

/// Where a function is to write its JSON and its error. The pointers are the caller's, which are valid during the call.
@safe
struct Outputs {
    private let json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    private let length: UnsafeMutablePointer<Int>?
    private let error: UnsafeMutablePointer<asr_error>?

    init(
        _ json: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ length: UnsafeMutablePointer<Int>?,
        _ error: UnsafeMutablePointer<asr_error>? = nil
    ) {
        unsafe self.json = json
        unsafe self.length = length
        unsafe self.error = error
        unsafe json?.pointee = nil
        unsafe length?.pointee = 0
        unsafe error?.pointee = asr_error()
    }

    /// Whether the caller takes the JSON. If not, it need not be made.
    var takesJSON: Bool { unsafe json != nil || length != nil }

    func usage() -> asr_status {
        fail("usage", "host")
        return Status.usage
    }

    func refusal(_ refusal: VerificationError, for surface: Surface = .c, withJSON: Bool = true) -> asr_status {
        fail(refusal.code.rawValue, refusal.category.rawValue)
        guard withJSON, takesJSON else { return Status.of(refusal) }
        return write(refusal.json(for: .user(of: surface)), Status.of(refusal))
    }

    func fail(_ code: String, _ category: String) {
        guard let error = unsafe error else { return }
        unsafe Self.copy(code, to: &error.pointee.code)
        unsafe Self.copy(category, to: &error.pointee.category)
    }

    /// Writes the JSON, and returns `status`, unless there is no memory.
    func write(_ text: String, _ status: asr_status) -> asr_status {
        var text = text
        return text.withUTF8 { unsafe write($0, status) }
    }

    func write(_ text: [UInt8], _ status: asr_status) -> asr_status {
        unsafe text.withUnsafeBufferPointer { unsafe write($0, status) }
    }

    private func write(_ text: UnsafeBufferPointer<UInt8>, _ status: asr_status) -> asr_status {
        unsafe length?.pointee = text.count
        guard let json = unsafe json else { return status }
        guard let copy = unsafe malloc(text.count + 1) else {
            unsafe length?.pointee = 0
            fail("out-of-memory", "host")
            return Status.host
        }
        unsafe LargeMemory.advise(copy, text.count)
        unsafe UnsafeMutableRawBufferPointer(start: copy, count: text.count).copyMemory(
            from: UnsafeRawBufferPointer(text))
        unsafe copy.storeBytes(of: 0, toByteOffset: text.count, as: UInt8.self)
        unsafe json.pointee = copy.assumingMemoryBound(to: CChar.self)
        return status
    }

    /// Copies a word into an array of C, and ends it with a NUL.
    private static func copy<Characters>(_ word: String, to characters: inout Characters) {
        unsafe withUnsafeMutableBytes(of: &characters) { buffer in
            for (index, byte) in word.utf8.prefix(buffer.count - 1).enumerated() { unsafe buffer[index] = byte }
        }
    }
}

/// The string at a pointer; `nil` for NULL and for what is not UTF-8.
func string(_ pointer: UnsafePointer<CChar>?) -> String? {
    guard let pointer = unsafe pointer else { return nil }
    return unsafe String(validatingCString: pointer)
}

/// The bytes at a pointer, which may be NULL if there are none.
func bytes(_ pointer: UnsafeRawPointer?, _ length: Int) -> [UInt8]? {
    // A length over half of the address space is negative in Swift.
    guard length >= 0, unsafe pointer != nil || length == 0 else { return nil }
    var bytes: [UInt8] = []
    unsafe LargeMemory.append(UnsafeRawBufferPointer(start: pointer, count: length), to: &bytes)
    return bytes
}

/// The bytes of evidence at a pointer, up to ``VerificationLimits/refusedByteCount``: no option changes the limits.
func evidenceBytes(_ pointer: UnsafeRawPointer?, _ length: Int) -> [UInt8]? {
    unsafe bytes(pointer, min(length, VerificationLimits.refusedByteCount))
}

extension Library {
    static func free(_ pointer: UnsafeMutableRawPointer?) { unsafe release(pointer) }
}

/// C's `free`: in ``Library``, that name is its own.
private func release(_ pointer: UnsafeMutableRawPointer?) { unsafe free(pointer) }
