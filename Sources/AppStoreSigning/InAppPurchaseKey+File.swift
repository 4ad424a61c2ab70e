import LibcryptoHandles

extension InAppPurchaseKey {
    /// Creates a key from a `.p8` file that its owner alone can read.
    ///
    /// A file in the folder that `CREDENTIALS_DIRECTORY` names is a credential of systemd: see
    /// ``init(systemdCredential:)``.
    ///
    /// - Throws: ``SigningError/Reason-swift.enum/unusableKey(_:)``, also if the file's group or others can read or
    ///   change it.
    public convenience init(file path: String) throws(SigningError) {
        var bytes: [UInt8]
        do throws(Fault) {
            bytes = try System.readSecretFile(path, isCredential: Self.isCredential(path))
        } catch {
            throw SigningError(.unusableKey(error))
        }
        try self.init(erasing: &bytes)
    }

    /// Creates a key from a credential that systemd gives this service, as with `LoadCredential=app-store-key:/etc/…`
    /// or `LoadCredentialEncrypted=`.
    ///
    /// systemd lets nobody else read it. Its access list looks like rights of the file's group.
    ///
    /// - Parameter name: The name of the credential, such as `app-store-key`.
    /// - Throws: ``SigningError/Reason-swift.enum/unusableKey(_:)`` with ``Fault/noCredential`` if there is none with
    ///   that name.
    public convenience init(systemdCredential name: String) throws(SigningError) {
        guard let folder = Self.credentials, Self.isFileName(name) else {
            throw SigningError(.unusableKey(.noCredential))
        }
        try self.init(file: folder + "/" + name)
    }

    /// The folder of the credentials, which systemd names by its whole path.
    private static var credentials: String? {
        guard let folder = System.environment("CREDENTIALS_DIRECTORY"), folder.utf8.first == UInt8(ascii: "/") else {
            return nil
        }
        return folder
    }

    private static func isCredential(_ path: String) -> Bool {
        guard let folder = credentials.map({ $0 + "/" }), path.utf8.starts(with: folder.utf8) else { return false }
        return isFileName(String(decoding: path.utf8.dropFirst(folder.utf8.count), as: UTF8.self))
    }

    private static func isFileName(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        return !bytes.isEmpty && !bytes.contains(UInt8(ascii: "/")) && !bytes.contains(0)
            && !bytes.elementsEqual(".".utf8) && !bytes.elementsEqual("..".utf8)
    }
}
