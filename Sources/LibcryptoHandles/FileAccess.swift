import CLibcryptoShims

/// Calls of the operating system that Swift has in an overlay alone, which needs a newer glibc.
package enum FileAccess {
    /// The number of the calling thread's last error.
    package static var errorNumber: CInt { receipt_errno() }

    /// Opens a file to read it, and a pipe without waiting for its writer.
    ///
    /// - Returns: A descriptor; -1 if the file cannot be opened.
    package static func open(_ path: String) -> CInt { unsafe receipt_open(path) }
}
