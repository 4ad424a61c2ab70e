extension StaticString {
    /// The text of a literal, which ends in NUL and is never freed.
    var cString: UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
