import AppStoreReceiptTesting
import SignatureTrust
import Instants
import SpanPKCS7
import TestSupport
import Testing

/// PITFALLS 20a: what a verifier has seen must not change what it answers.
@Suite struct PinnedChainCacheTests {
    private func isKnown(_ leaf: [UInt8], to verifier: PinnedChainVerifier) throws -> Bool {
        try verifier.key(of: Certificate(leaf.span)).isKnown
    }

    /// A pool of certificates: genuine, of the same names, expired, a stranger's.
    private struct Pool {
        let authority: TestCertificateAuthority
        let signers: [SigningIdentity]
        let certificates: [[UInt8]]

        init() throws {
            authority = try MintedChain.genuine.get()
            let sibling = try MintedChain.authority {
                $0.shape.leaf.serialNumber = [0x44]
                $0.shape.leaf.notAfter = .seconds(1_800_000_000)
            }
            let unmarked = try MintedChain.authority {
                $0.shape.leaf.serialNumber = [0x45]
                $0.shape.leaf.removeExtensions(.receiptSigningMarker)
            }
            let renewed = try MintedChain.authority { $0.shape.intermediate.notBefore = .seconds(1_600_000_000) }
            let expired = try MintedChain.authority { $0.shape.intermediate.notAfter = .seconds(1_400_000_000) }
            let rekeyed = try MintedChain.authority { $0.intermediateKey = try MintedChain.strangerKey }
            let stranger = try MintedChain.authority {
                $0.rootKey = try MintedChain.strangerKey
                $0.shape.leaf.serialNumber = [0x46]
            }
            signers = [authority.leaf, authority.leaf, sibling.leaf, unmarked.leaf, stranger.leaf]
            certificates =
                authority.certificates + [sibling, unmarked, stranger].map(\.leaf.certificate)
                + [renewed, expired, rekeyed, stranger].map(\.intermediate.certificate) + [stranger.root.certificate]
        }

        func message(_ generator: inout SeededGenerator) throws -> [UInt8] {
            let signer = signers[Int.random(in: 0..<signers.count, using: &generator)]
            var builder = SignedDataBuilder(by: authority)
            builder.signers[0].identity = signer
            var chosen = certificates.filter { _ in Bool.random(using: &generator) }
            if Int.random(in: 0..<8, using: &generator) > 0 { chosen.append(signer.certificate) }
            if let doubled = chosen.randomElement(using: &generator), Bool.random(using: &generator) {
                chosen.append(doubled)
            }
            chosen.shuffle(using: &generator)
            builder.certificates = chosen
            return try builder.encoded()
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a verifier that has seen much answers as a new one, with certificates dropped, added, doubled or moved`()
        throws
    {
        let pool = try Pool()
        var generator = SeededGenerator()
        let anchors = [pool.authority.root.certificate]
        let warm = try PinnedChainVerifier.make(anchors: anchors)
        let crowded = try PinnedChainVerifier.make(anchors: anchors, cacheCapacity: 1)
        let dates = [
            1_262_303_999, 1_262_304_000, 1_399_999_999, 1_400_000_000, 1_500_000_000, 1_600_000_000, 1_799_999_999,
            1_800_000_000, 2_398_377_599,
        ]
        var accepted = 0
        for round in 0..<400 {
            let message = try pool.message(&generator)
            let date = Instant.seconds(Int64(dates[Int.random(in: 0..<dates.count, using: &generator)]))
            let expected = try PinnedChainVerifier.make(anchors: anchors).verdict(message, at: date)
            for verifier in [warm, crowded] {
                switch (verifier.verdict(message, at: date), expected) {
                // Two intermediates may both be right; which one is not said by the verdict.
                case (.accepted(let leaf, _, let digest), .accepted(let expectedLeaf, _, let expectedDigest)):
                    #expect(leaf == expectedLeaf && digest == expectedDigest, "round \(round)")
                case (let found, _): #expect(found == expected, "round \(round)")
                }
            }
            if expected.isAccepted { accepted += 1 }
        }
        #expect(40...360 ~= accepted)
    }

    @Test func `a known leaf without its intermediate is refused`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        let whole = SignedDataBuilder(by: authority)
        var alone = whole
        alone.certificates = [authority.leaf.certificate]
        var withRoot = whole
        withRoot.certificates = [authority.leaf.certificate, authority.root.certificate]
        for builder in [alone, withRoot] { #expect(try verifier.verdict(builder) == .refused(.untrustedChain)) }
        #expect(try verifier.verdict(whole).isAccepted)
        for builder in [alone, withRoot] { #expect(try verifier.verdict(builder) == .refused(.untrustedChain)) }
    }

    @Test func `a leaf's known key is used for that leaf alone`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        #expect(try verifier.verdict(SignedDataBuilder(by: authority)).isAccepted)
        // Issuer, serial number and everything else are the same, but for the key, or one bit.
        let impostor = try MintedChain.authority { $0.leafKey = try MintedChain.strangerKey }
        var builder = SignedDataBuilder(by: authority)
        builder.certificates?[0] = impostor.leaf.certificate
        #expect(try verifier.verdict(builder) == .refused(.invalidSignature))
        for index in authority.leaf.certificate.indices where index % 7 == 0 {
            builder.certificates?[0] = authority.leaf.certificate
            builder.certificates?[0][index] ^= 0x10
            let cold = try PinnedChainVerifier.make(anchors: [authority.root.certificate]).verdict(builder)
            #expect(try verifier.verdict(builder) == cold)
            #expect(!cold.isAccepted)
        }
    }

    @Test func `under a known intermediate a leaf is judged as by a verifier that knows none`() throws {
        let authority = try MintedChain.genuine.get()
        let anchors = [authority.root.certificate]
        let warm = try PinnedChainVerifier.make(anchors: anchors)
        #expect(try warm.verdict(SignedDataBuilder(by: authority)).isAccepted)
        let rows: [(SignatureTrustError.Kind?, (inout MintedChain) throws -> Void)] = [
            (nil, { _ in }),
            (.certificateExpired, { $0.shape.leaf.notAfter = .seconds(1_400_000_000) }),
            (.certificateNotYetValid, { $0.shape.leaf.notBefore = .seconds(1_800_000_000) }),
            (.missingLeafMarker, { $0.shape.leaf.removeExtensions(.receiptSigningMarker) }),
            (.invalidKeyUsage, { $0.shape.leaf.replaceExtension(.keyUsage(.keyCertSign)) }),
            (.untrustedChain, { $0.intermediateKey = try MintedChain.strangerKey }),
            // The key identifiers told them apart; without them there is only the name.
            (
                .invalidCertificateSignature,
                {
                    $0.intermediateKey = try MintedChain.strangerKey
                    $0.shape.leaf.removeExtensions(.authorityKeyIdentifier)
                }
            ),
        ]
        for (serial, (kind, change)) in rows.enumerated() {
            let sibling = try MintedChain.authority {
                $0.shape.leaf.serialNumber = [0x60 + UInt8(serial)]
                try change(&$0)
            }
            var builder = SignedDataBuilder(by: sibling)
            builder.certificates?[1] = authority.intermediate.certificate
            let cold = try PinnedChainVerifier.make(anchors: anchors).verdict(builder)
            #expect(try warm.verdict(builder) == cold)
            if let kind { #expect(cold == .refused(kind)) } else { #expect(cold.isAccepted) }
        }
    }

    @Test func `an intermediate is known by all of its bytes`() throws {
        let authority = try MintedChain.genuine.get()
        let anchors = [authority.root.certificate]
        let warm = try PinnedChainVerifier.make(anchors: anchors)
        #expect(try warm.verdict(SignedDataBuilder(by: authority)).isAccepted)
        let sibling = try MintedChain.authority { $0.shape.leaf.serialNumber = [0x70] }
        var builder = SignedDataBuilder(by: sibling)
        for index in authority.intermediate.certificate.indices where index % 7 == 0 {
            builder.certificates?[1] = authority.intermediate.certificate
            builder.certificates?[1][index] ^= 0x10
            let cold = try PinnedChainVerifier.make(anchors: anchors).verdict(builder)
            #expect(try warm.verdict(builder) == cold)
            #expect(!cold.isAccepted)
        }
    }

    @Test func `refusals are never remembered`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        let whole = SignedDataBuilder(by: authority)
        var incomplete = whole
        incomplete.certificates?.remove(at: 1)
        #expect(try verifier.verdict(incomplete) == .refused(.untrustedChain))
        #expect(try verifier.verdict(whole, at: .seconds(2_500_000_000)) == .refused(.certificateExpired))
        #expect(try verifier.verdict(whole, at: .seconds(1_200_000_000)) == .refused(.certificateNotYetValid))
        #expect(try !isKnown(authority.leaf.certificate, to: verifier))
        #expect(try verifier.verdict(whole).isAccepted)
        #expect(try isKnown(authority.leaf.certificate, to: verifier))
        #expect(try verifier.verdict(whole, at: .seconds(2_500_000_000)) == .refused(.certificateExpired))
        #expect(try verifier.verdict(whole).isAccepted)
    }

    @Test func `a forged message makes nothing known, though its chain is genuine`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        var builder = SignedDataBuilder(by: authority)
        builder.signers[0].signature = [UInt8](repeating: 1, count: 256)
        #expect(try verifier.verdict(builder) == .refused(.invalidSignature))
        #expect(try !isKnown(authority.leaf.certificate, to: verifier))
    }

    @Test func `a flood of strangers' chains drives out nothing`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate], cacheCapacity: 2)
        #expect(try verifier.verdict(SignedDataBuilder(by: authority)).isAccepted)
        for serial in 1...60 as ClosedRange<UInt8> {
            let stranger = try MintedChain.authority {
                $0.shape.leaf.serialNumber = [serial]
                if serial % 3 > 0 { $0.rootKey = try MintedChain.strangerKey }
                if serial % 3 == 0 { $0.shape.leaf.removeExtensions(.receiptSigningMarker) }
            }
            #expect(try !verifier.verdict(SignedDataBuilder(by: stranger)).isAccepted)
        }
        #expect(try isKnown(authority.leaf.certificate, to: verifier))
    }

    @Test func `more genuine chains than there is room for are all verified, and the newest known`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate], cacheCapacity: 3)
        let authorities = try (1...5 as ClosedRange<UInt8>).map { serial in
            try MintedChain.authority { $0.shape.leaf.serialNumber = [serial] }
        }
        for _ in 0..<2 {
            for authority in authorities {
                #expect(try verifier.verdict(SignedDataBuilder(by: authority)).isAccepted)
                #expect(try isKnown(authority.leaf.certificate, to: verifier))
            }
        }
        let known = try authorities.map { try isKnown($0.leaf.certificate, to: verifier) }
        #expect(known == [false, false, true, true, true])
    }

    /// RFC 5280, 4.1.2.5. For libcrypto, `notAfter` itself is too late.
    @Test(arguments: 0..<3)
    func `a chain holds from the last notBefore through the first notAfter, cold and warm`(narrowest: Int) throws {
        let (first, last) = (1_700_000_000 as Int64, 1_750_000_000 as Int64)
        let authority = try MintedChain.authority { chain in
            func narrow(_ certificate: inout CertificateSpecification) {
                certificate.notBefore = .seconds(first)
                certificate.notAfter = .seconds(last)
            }
            switch narrowest {
            case 0: narrow(&chain.shape.leaf)
            case 1: narrow(&chain.shape.intermediate)
            default: narrow(&chain.shape.root)
            }
        }
        let warm = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        let message = try SignedDataBuilder(by: authority).encoded()
        #expect(warm.verdict(message, at: .seconds((first + last) / 2)).isAccepted)
        let rows: [(Int64, SignatureTrustError.Kind?)] = [
            (first * 1000 - 1, .certificateNotYetValid), (first * 1000, nil), (first * 1000 + 1, nil),
            (last * 1000 - 1, nil), (last * 1000, nil), (last * 1000 + 999, nil),
            (last * 1000 + 1000, .certificateExpired), (0, .certificateNotYetValid), (.min, .certificateNotYetValid),
            // The years 0, 1899, 1900 and 9999.
            (-62_167_219_200_000, .certificateNotYetValid), (-2_208_988_800_001, .certificateNotYetValid),
            (-2_208_988_800_000, .certificateNotYetValid), (253_402_300_799_999, .certificateExpired),
            (.max, .certificateExpired),
        ]
        for (milliseconds, kind) in rows {
            let date = Instant(millisecondsSince1970: milliseconds)
            let cold = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
            for verifier in [cold, warm] {
                let verdict = verifier.verdict(message, at: date)
                if let kind { #expect(verdict == .refused(kind)) } else { #expect(verdict.isAccepted) }
            }
        }
    }

    /// A root, the same renewed for later years, and one of its name that a stranger has.
    private struct Roots {
        let authority: TestCertificateAuthority
        let old: [UInt8]
        let renewed: [UInt8]
        let stranger: [UInt8]

        init() throws {
            authority = try MintedChain.authority { $0.shape.root.notAfter = .seconds(1_700_000_000) }
            old = authority.root.certificate
            renewed = try MintedChain.authority { $0.shape.root.notBefore = .seconds(1_600_000_000) }.root.certificate
            stranger = try MintedChain.authority { $0.rootKey = try MintedChain.strangerKey }.root.certificate
        }
    }

    private func anchor(
        _ verifier: PinnedChainVerifier, _ builder: SignedDataBuilder, at seconds: Int64
    ) throws -> [UInt8]? {
        let bytes = try builder.encoded()
        let message = try SignedData(ContentInfo(bytes.span))
        do throws(SignatureTrustError) {
            let signature = try verifier.verifySignature(of: message)
            return try verifier.chain(of: signature, in: message, at: .seconds(seconds)).anchor.der
        } catch {
            return nil
        }
    }

    @Test func `of several anchors that complete a path the first is named, whatever was verified before`() throws {
        let roots = try Roots()
        let builder = SignedDataBuilder(by: roots.authority)
        let moments = [1_500_000_000, 1_650_000_000, 1_750_000_000] as [Int64]
        let rows: [([[UInt8]], [[UInt8]])] = [
            ([roots.old, roots.renewed], [roots.old, roots.old, roots.renewed]),
            ([roots.renewed, roots.old], [roots.old, roots.renewed, roots.renewed]),
            ([roots.stranger, roots.old, roots.renewed], [roots.old, roots.old, roots.renewed]),
        ]
        for (anchors, expected) in rows {
            for first in moments.indices {
                let verifier = try PinnedChainVerifier.make(anchors: anchors)
                _ = try anchor(verifier, builder, at: moments[first])
                for (moment, expected) in zip(moments, expected) {
                    #expect(try anchor(verifier, builder, at: moment) == expected)
                }
            }
        }
    }

    @Test func `the chains of a leaf over two intermediates are both remembered`() throws {
        let authority = try MintedChain.genuine.get()
        let renewed = try MintedChain.authority { $0.shape.intermediate.notAfter = .seconds(2_300_000_000) }
            .intermediate
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        var builder = SignedDataBuilder(by: authority)
        for intermediate in [authority.intermediate, renewed, authority.intermediate, renewed] {
            builder.certificates = [authority.leaf.certificate, intermediate.certificate]
            #expect(try verifier.verdict(builder).isAccepted)
        }
        #expect(verifier.cacheCounts == (hits: 2, misses: 2, evictions: 0))
    }

    @Test func `a chain that is validated again takes no second place`() throws {
        let authority = try MintedChain.genuine.get()
        let stranger = try MintedChain.authority { $0.rootKey = try MintedChain.strangerKey }
        let other = try MintedChain.authority {
            $0.shape.root.subject = DistinguishedName(.commonName("Another Root"))
            $0.rootKey = try MintedChain.strangerKey
        }
        // The chain ends at the second anchor. The stranger's intermediate could lead to the first, so that both are
        // tried each time.
        let verifier = try PinnedChainVerifier.make(
            anchors: [other.root.certificate, authority.root.certificate], cacheCapacity: 2)
        var builder = SignedDataBuilder(by: authority)
        builder.certificates?.append(stranger.intermediate.certificate)
        for _ in 0..<4 { #expect(try verifier.verdict(builder).isAccepted) }
        #expect(verifier.cacheCounts.evictions == 0)
    }

    @Test func `an intermediate under a later anchor does not hide one under an earlier`() throws {
        // Two certificates of one intermediate, each under another root.
        let first = try MintedChain.authority { _ in }
        let second = try MintedChain.authority {
            $0.shape.root.subject = DistinguishedName(.commonName("Another Root"))
            $0.rootKey = try MintedChain.strangerKey
        }
        let verifier = try PinnedChainVerifier.make(anchors: [first.root.certificate, second.root.certificate])
        let leaf = first.leaf.certificate
        var builder = SignedDataBuilder(by: first)
        let rows: [([[UInt8]], [UInt8])] = [
            ([leaf, second.intermediate.certificate], second.root.certificate),
            ([leaf, second.intermediate.certificate, first.intermediate.certificate], first.root.certificate),
            ([leaf, first.intermediate.certificate, second.intermediate.certificate], first.root.certificate),
            ([leaf, first.intermediate.certificate], first.root.certificate),
            ([leaf, second.intermediate.certificate], second.root.certificate),
        ]
        for (certificates, expected) in rows {
            builder.certificates = certificates
            let cold = try PinnedChainVerifier.make(anchors: [first.root.certificate, second.root.certificate])
            for verifier in [verifier, cold] {
                #expect(try anchor(verifier, builder, at: 1_719_792_000) == expected)
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `eight threads share a verifier and get the answers that each alone would get`() async throws {
        let pool = try Pool()
        var generator = SeededGenerator()
        let anchors = [pool.authority.root.certificate]
        let messages = try (0..<40).map { _ in try pool.message(&generator) }
        let dates = [1_350_000_000, 1_500_000_000, 1_700_000_000].map { Instant.seconds($0) }
        var expected: [[Bool]] = []
        for message in messages {
            expected.append(
                try dates.map { try PinnedChainVerifier.make(anchors: anchors).verdict(message, at: $0).isAccepted })
        }
        let shared = try PinnedChainVerifier.make(anchors: anchors, cacheCapacity: 2)
        let answers = expected
        await withTaskGroup(of: Int.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    var wrong = 0
                    for round in 0..<3 {
                        for index in messages.indices {
                            let message = (index * 7 + thread * 5 + round) % messages.count
                            for (date, answer) in zip(dates, answers[message]) {
                                if shared.verdict(messages[message], at: date).isAccepted != answer { wrong += 1 }
                            }
                        }
                    }
                    return wrong
                }
            }
            for await wrong in group { #expect(wrong == 0) }
        }
    }
}
