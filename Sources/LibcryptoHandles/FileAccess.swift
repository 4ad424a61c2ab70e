import CLibcryptoShims

/// System calls that Swift has only in an overlay, which needs a newer glibc.
package enum FileAccess {
    /// The number of the calling thread's last error.
    package static var errorNumber: CInt { receipt_errno() }

    /// Opens a file for reading, without waiting for the writer of a pipe.
    ///
    /// - Returns: A descriptor; -1 if the file cannot be opened.
    package static func open(_ path: String) -> CInt { unsafe receipt_open(path) }
}
