extension Span<UInt8> {
    /// Passes the bytes to one of libcrypto's `d2i` functions, which must read all of them.
    func decode<Kind: LibcryptoObject>(
        as _: Kind.Type, orThrow kind: LibcryptoError.Kind,
        _ d2i: (_ position: UnsafeMutablePointer<UnsafePointer<UInt8>?>, _ count: Int) -> OpaquePointer?
    ) throws(LibcryptoError) -> Owned<Kind> {
        guard !isEmpty, count <= Int(Int32.max) else { throw LibcryptoError(kind) }
        var unread = count
        let object = try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            try unsafe Owned<Kind>(
                withUnsafeBufferPointer { bytes in
                    var position = bytes.baseAddress
                    let object = unsafe d2i(&position, bytes.count)
                    if let start = bytes.baseAddress, let position = unsafe position {
                        unread = unsafe bytes.count - (position - start)
                    }
                    return unsafe object
                }, orThrow: kind)
        }
        guard unread == 0 else { throw LibcryptoError(kind) }
        return object
    }
}
