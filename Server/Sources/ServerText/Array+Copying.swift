extension [UInt8] {
    /// Creates an array with the bytes of a span. The library has the same in a module that it does not share.
    package init(copying bytes: Span<UInt8>) {
        self.init()
        append(addingCapacity: bytes.count) { output in
            for index in bytes.indices { output.append(bytes[index]) }
        }
    }
}
