import LibcryptoHandles
import Testing

/// Midsummer 2025, in the validity of every certificate that says nothing else.
private let date: Int64 = 1_750_464_000

struct ChainValidatorTests {
    func validate(
        _ chain: TestChain = TestChain(), at seconds: Int64 = date, revocationLists: [RevocationList] = [],
        revocationScope: ChainValidator.RevocationScope = .chain, maximumIntermediates: Int = 1
    ) throws -> ChainResult {
        defer { #expect(LibcryptoError.isQueueEmpty) }
        return try ChainValidator(anchor: chain.rootCertificate()).validate(
            leaf: chain.leafCertificate(), untrusted: [chain.intermediateCertificate()], secondsSince1970: seconds,
            revocationLists: revocationLists, revocationScope: revocationScope,
            maximumIntermediates: maximumIntermediates)
    }

    static let path = ChainResult.valid(path: [.leaf, .untrusted(0), .anchor])

    @Test func `a good chain is valid, and its path is named`() throws {
        #expect(try validate() == Self.path)
    }

    @Test func `a SHA-1 chain is valid: algorithms are the caller's business`() throws {
        var chain = TestChain()
        chain.root.algorithm = .sha1
        chain.intermediate.algorithm = .sha1
        chain.leaf.algorithm = .sha1
        #expect(try validate(chain) == Self.path)
    }

    @Test func `each fault is named, with its place`() throws {
        typealias Request = CertificateRequest
        let faults: [(ChainFault, depth: Int, (inout TestChain) -> Void)] = [
            (.expired, 0, { $0.leaf.notAfter = "250601000000Z" }),
            (.expired, 1, { $0.intermediate.notAfter = "250601000000Z" }),
            (.expired, 2, { $0.root.notAfter = "250601000000Z" }),
            (.notYetValid, 0, { $0.leaf.notBefore = "250801000000Z" }),
            (.notYetValid, 1, { $0.intermediate.notBefore = "250801000000Z" }),
            (.noIssuer, 0, { $0.leaf.issuer = "stranger" }),
            (.noIssuer, 1, { $0.intermediate.issuer = "stranger" }),
            (.invalidCA, 1, { $0.intermediate.extensions = [Request.notAuthority, Request.certificateSigning] }),
            (.invalidCA, 1, { $0.intermediate.extensions = [Request.digitalSignature] }),
            (
                .invalidCA, 1,
                { $0.intermediate.extensions = [Request.authority(), Request.digitalSignature] }
            ),
            (.unknownCriticalExtension, 0, { $0.leaf.extensions.append(Request.unknownCritical) }),
            (.unknownCriticalExtension, 1, { $0.intermediate.extensions.append(Request.unknownCritical) }),
        ]
        for (fault, depth, makeFaulty) in faults {
            var chain = TestChain()
            makeFaulty(&chain)
            let result = try validate(chain)
            guard case .invalid(let found, _) = result else {
                Issue.record("\(fault) at \(depth) was accepted")
                continue
            }
            #expect(found == fault)
            #expect(result == .invalid(fault, depth: depth))
        }
    }

    @Test func `an unknown extension that is not critical is nothing`() throws {
        var chain = TestChain()
        chain.leaf.extensions.append(CertificateRequest.unknown)
        #expect(try validate(chain) == Self.path)
    }

    static let boundaries: [(seconds: Int64, ChainResult)] = [
        (1_735_689_599, .invalid(.notYetValid, depth: 1)), (1_735_689_600, path),
        (1_767_225_599, path), (1_767_225_600, .invalid(.expired, depth: 1)),
        (0, .invalid(.notYetValid, depth: 2)), (-1, .invalid(.notYetValid, depth: 2)),
    ]

    /// Validity includes both its ends (RFC 5280, 4.1.2.5).
    @Test(arguments: boundaries)
    func `the date decides to the second`(seconds: Int64, expected: ChainResult) throws {
        #expect(try validate(at: seconds) == expected)
    }

    /// Seconds of 32 bits end in 2038 or 2106, and begin in 1901 or 1970.
    @Test(
        arguments: [
            (1960, -302_486_400), (2110, 4_431_024_000), (2240, 8_533_468_800),
        ] as [(Int, Int64)]) func `a chain is valid in its years, whatever they are`(year: Int, seconds: Int64) throws
    {
        var chain = TestChain()
        for part in [\TestChain.root, \.intermediate, \.leaf] {
            // RFC 5280, 4.1.2.5: UTCTime has the years 1950 to 2049.
            chain[keyPath: part].notBefore = year < 1970 ? "500101000000Z" : "\(year)0101000000Z"
            chain[keyPath: part].notAfter = year < 1970 ? "691231235959Z" : "\(year)1231235959Z"
        }
        #expect(try validate(chain, at: seconds) == Self.path)
        let fault: ChainFault = year < 1970 ? .expired : .notYetValid
        #expect(try validate(chain) == .invalid(fault, depth: 2))
    }

    @Test(arguments: [Int64.min, Int64.max]) func `no date traps`(seconds: Int64) throws {
        let result = try validate(at: seconds)
        #expect(result != Self.path)
    }

    @Test func `a signature by another key is bad`() throws {
        let chain = TestChain()
        let leaf = try CertificateHandle(
            chain.leaf.der(signedBy: TestKeys.root.get(), for: TestKeys.leaf.get().publicKey))
        let result = try ChainValidator(anchor: chain.rootCertificate()).validate(
            leaf: leaf, untrusted: [chain.intermediateCertificate()], secondsSince1970: date, maximumIntermediates: 1)
        #expect(result == .invalid(.badSignature, depth: 0))
        #expect(LibcryptoError.isQueueEmpty)
    }

    @Test func `the order, number and company of the other certificates do not matter`() throws {
        let chain = TestChain()
        let (root, intermediate, leaf) = try (
            chain.rootCertificate(), chain.intermediateCertificate(), chain.leafCertificate()
        )
        let copy = try chain.rootCertificate()
        let stranger = try Self.stranger()
        let validator = try ChainValidator(anchor: root)
        for (untrusted, place) in [
            ([leaf, intermediate, root], 1), ([root, intermediate, leaf], 1), ([copy, stranger, intermediate], 2),
            ([intermediate, intermediate, copy, copy], 0),
        ] {
            #expect(
                try validator.validate(
                    leaf: leaf, untrusted: untrusted, secondsSince1970: date, maximumIntermediates: 1)
                    == .valid(path: [.leaf, .untrusted(place), .anchor]))
        }
    }

    private static func stranger() throws -> CertificateHandle {
        try CertificateHandle(
            CertificateRequest(issuer: "stranger", subject: "stranger").der(
                signedBy: TestKeys.stranger.get(), for: TestKeys.stranger.get().publicKey))
    }

    @Test func `only a pinned root is trusted`() throws {
        let chain = TestChain()
        let stranger = try Self.stranger()
        let (root, intermediate, leaf) = try (
            chain.rootCertificate(), chain.intermediateCertificate(), chain.leafCertificate()
        )
        func validate(anchor: CertificateHandle, untrusted: [CertificateHandle]) throws -> ChainResult {
            try ChainValidator(anchor: anchor).validate(
                leaf: leaf, untrusted: untrusted, secondsSince1970: date, maximumIntermediates: 1)
        }
        #expect(try validate(anchor: stranger, untrusted: [intermediate, root]) == .invalid(.noIssuer, depth: 2))
        #expect(try validate(anchor: root, untrusted: []) == .invalid(.noIssuer, depth: 0))
        // An intermediate that is pinned does not end a path.
        #expect(try validate(anchor: intermediate, untrusted: []) == .invalid(.noIssuer, depth: 1))
        // A root of the same name with another key.
        let impostor = try CertificateHandle(
            chain.root.der(signedBy: TestKeys.leaf.get(), for: TestKeys.leaf.get().publicKey))
        #expect(try validate(anchor: impostor, untrusted: [intermediate, root]) != Self.path)
        #expect(
            try validate(anchor: root, untrusted: [impostor, intermediate])
                == .valid(
                    path: [.leaf, .untrusted(1), .anchor]))
    }

    @Test func `a self-signed leaf is trusted if it is pinned itself`() throws {
        let request = CertificateRequest(issuer: "self", subject: "self")
        let key = try TestKeys.leaf.get()
        let der = try request.der(signedBy: key, for: key.publicKey)
        let (leaf, anchor) = try (CertificateHandle(der), CertificateHandle(der))
        #expect(
            try ChainValidator(anchor: anchor).validate(
                leaf: leaf, untrusted: [], secondsSince1970: date, maximumIntermediates: 0)
                == .valid(path: [.anchor]))
        #expect(
            try ChainValidator(anchor: TestChain().rootCertificate()).validate(
                leaf: leaf, untrusted: [leaf], secondsSince1970: date, maximumIntermediates: 0)
                == .invalid(.noIssuer, depth: 0))
    }

    @Test func `strictness asks for key identifiers`() throws {
        let chain = TestChain()
        let result = try ChainValidator(anchor: chain.rootCertificate(), isStrict: true).validate(
            leaf: chain.leafCertificate(), untrusted: [chain.intermediateCertificate()], secondsSince1970: date,
            maximumIntermediates: 1)
        guard case .invalid(.other, _) = result else {
            Issue.record("\(result)")
            return
        }
    }

    @Test func `a longer path than allowed is refused`() throws {
        #expect(try validate(maximumIntermediates: 0) == .invalid(.chainTooLong, depth: 1))
        #expect(try validate(maximumIntermediates: .min) == .invalid(.chainTooLong, depth: 1))
        #expect(try validate(maximumIntermediates: .max) == Self.path)
    }

    /// A leaf that issues another leaf: PITFALLS of every chain without basicConstraints.
    @Test func `a leaf is no issuer, and a path length of 0 allows no further one`() throws {
        let chain = TestChain()
        var forged = CertificateRequest(issuer: "leaf", subject: "forged", serial: 4)
        forged.extensions = [CertificateRequest.digitalSignature]
        let forgery = try CertificateHandle(
            forged.der(signedBy: TestKeys.leaf.get(), for: TestKeys.stranger.get().publicKey))
        func validate(_ chain: TestChain) throws -> ChainResult {
            try ChainValidator(anchor: chain.rootCertificate()).validate(
                leaf: forgery, untrusted: [chain.leafCertificate(), chain.intermediateCertificate()],
                secondsSince1970: date, maximumIntermediates: 2)
        }
        #expect(try validate(chain) == .invalid(.invalidCA, depth: 1))
        var issuing = chain
        issuing.leaf.extensions = [CertificateRequest.authority(), CertificateRequest.certificateSigning]
        #expect(try validate(issuing) == .invalid(.pathLengthExceeded, depth: 2))
        issuing.intermediate.extensions = [CertificateRequest.authority(), CertificateRequest.certificateSigning]
        #expect(try validate(issuing) == .valid(path: [.leaf, .untrusted(0), .untrusted(1), .anchor]))
    }

    @Test func `revocation lists are honoured when given`() throws {
        let (rootKey, intermediateKey) = try (TestKeys.root.get(), TestKeys.intermediate.get())
        let byRoot = try TestChain.revocationList(issuer: "root", key: rootKey)
        let clean = try TestChain.revocationList(issuer: "intermediate", key: intermediateKey)
        let revoking = try TestChain.revocationList(issuer: "intermediate", key: intermediateKey, revoked: [9, 3])
        let revokingIssuer = try TestChain.revocationList(issuer: "root", key: rootKey, revoked: [2])
        let stale = try TestChain.revocationList(
            issuer: "intermediate", key: intermediateKey, nextUpdate: "250601000000Z")
        let forged = try TestChain.revocationList(issuer: "intermediate", key: TestKeys.stranger.get())
        var chain = TestChain()
        // Both may sign revocation lists.
        let usage = DER.sequence([6, 3, 0x55, 0x1D, 0x0F], DER.element(4, [3, 2, 1, 0x06]))
        chain.intermediate.extensions = [CertificateRequest.authority(pathLength: 0), usage]
        let cases: [([RevocationList], ChainValidator.RevocationScope, ChainResult)] = [
            ([], .chain, Self.path),
            ([byRoot, clean], .chain, Self.path),
            ([clean], .leaf, Self.path),
            ([clean], .chain, .invalid(.noRevocationList, depth: 1)),
            ([byRoot], .leaf, .invalid(.noRevocationList, depth: 0)),
            ([byRoot, revoking], .chain, .invalid(.revoked, depth: 0)),
            ([revokingIssuer, clean], .chain, .invalid(.revoked, depth: 1)),
            ([revokingIssuer, clean], .leaf, Self.path),
            ([byRoot, stale], .chain, .invalid(.unusableRevocationList, depth: 0)),
            ([byRoot, forged], .chain, .invalid(.unusableRevocationList, depth: 0)),
        ]
        for (lists, scope, expected) in cases {
            #expect(try validate(chain, revocationLists: lists, revocationScope: scope) == expected)
        }
    }

    @Test func `one validator serves many threads`() async throws {
        let chain = TestChain()
        let validator = try ChainValidator(anchor: chain.rootCertificate())
        let (leaf, intermediate) = try (chain.leafCertificate(), chain.intermediateCertificate())
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try (0..<50).allSatisfy { round in
                        let late = !round.isMultiple(of: 2)
                        let result = try validator.validate(
                            leaf: leaf, untrusted: [intermediate], secondsSince1970: late ? 2_000_000_000 : date,
                            maximumIntermediates: 1)
                        return result == (late ? .invalid(.expired, depth: 1) : Self.path)
                            && LibcryptoError.isQueueEmpty
                    }
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}
