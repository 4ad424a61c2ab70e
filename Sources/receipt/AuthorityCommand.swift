import AppStoreReceiptTesting

/// `receipt ca`
struct AuthorityCommand: Command {
    static let syntax = CommandSyntax(
        name: "ca",
        summary: "Makes a certificate authority for minting test receipts",
        operands: "",
        maximumOperandCount: 0,
        options: [
            .init(
                "--out", "DIR", "Store it in DIR, which is made if it does not exist. No file is overwritten."
            ),
            .init(
                "--key", "rsa|ec",
                "The kind of its keys: 'rsa', the default, for receipts, or 'ec' for JWS and for receipts."),
        ],
        notes: """
            DIR gets a root, an intermediate and a leaf certificate (.der) with their private keys (.key).
            Mint with 'receipt mint --ca DIR', and verify with 'receipt verify --root DIR/root.der'.
            Nothing that it signs verifies under Apple's roots. Trust its root in tests only.
            """)

    private let directory: String
    private let shape: TestCertificateAuthority.Shape

    init(_ arguments: Arguments) throws(UsageError) {
        guard let directory = arguments["--out"] else { throw .missingOption("--out DIR") }
        self.directory = directory
        shape = arguments["--key"] == "ec" ? .ellipticCurve : .init()
    }

    func run(_ console: inout Console) -> ExitStatus {
        let files: [TestCertificateAuthority.File]
        do throws(MintingError) {
            files = try TestCertificateAuthority(shape).files()
        } catch {
            console.report("cannot make an authority: \(error.code.rawValue)")
            return .unusable
        }
        var name = directory
        do throws(SystemError) {
            try System.makeDirectory(directory)
            for file in files {
                name = "\(directory)/\(file.name)"
                try System.write(file.contents.span, toNewFile: name, isPrivate: file.name.hasSuffix(".key"))
            }
        } catch {
            console.report("\(name.printable): \(error)")
            return .unusable
        }
        console.print("\(directory.printable)/root.der is the root to trust in tests.")
        return .passed
    }
}

extension TestCertificateAuthority {
    /// Loads an authority that `receipt ca` stored.
    static func load(_ directory: String, _ console: inout Console) -> TestCertificateAuthority? {
        var files: [File] = []
        for name in ["root", "intermediate", "leaf"].flatMap({ [$0 + ".der", $0 + ".key"] }) {
            let path = "\(directory)/\(name)"
            do throws(SystemError) {
                files.append(File(name: name, contents: try System.read(path, maximumByteCount: 1 << 20)))
            } catch {
                console.report(
                    "\(path.printable): \(error)\n'receipt ca --out \(directory.printable)' makes an authority.")
                return nil
            }
        }
        do throws(MintingError) {
            return try TestCertificateAuthority(files: files)
        } catch {
            console.report("\(directory.printable): \(error.code.rawValue)")
            return nil
        }
    }
}
