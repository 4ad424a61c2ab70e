import TestSupport
import Testing

@testable import AppStoreReceipt

/// `version (1 byte) ‖ signature ‖ length of the certificate (4 bytes, big-endian) ‖ certificate`
@Suite struct SignatureBlobTests {
    private func blob(_ version: TransactionReceipt.Version, length: UInt32, certificate: Int) -> [UInt8] {
        let octets = (0..<4).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
        return [UInt8(version.rawValue)] + [UInt8](repeating: 0xAA, count: version.rules.signatureByteCount) + octets
            + [UInt8](repeating: 0xBB, count: certificate)
    }

    private func failure(_ bytes: [UInt8]) -> VerificationError? {
        do throws(VerificationError) {
            _ = try SignatureBlob(bytes.span)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: TransactionReceipt.Version.allCases)
    func `the certificate is as long as its length says, and the last`(version: TransactionReceipt.Version) throws {
        let lengthOffset = 1 + version.rules.signatureByteCount
        let rows: [(length: UInt32, certificate: Int)] = [
            (299, 300), (301, 300), (0, 300), (0, 1), (1, 0), (300, 301), (300, 0), (300 + 1 << 8, 300),
            (300 + 1 << 16, 300), (300 + 1 << 24, 300), (.max, 300), (.max, 0),
        ]
        for (length, certificate) in rows {
            let error = failure(blob(version, length: length, certificate: certificate))
            #expect(
                error == VerificationError(.signatureBlob(.certificateLength, offset: lengthOffset)),
                "\(length), \(certificate)")
        }
        for count in [0, 1, 300, 70_000] {
            let bytes = blob(version, length: UInt32(count), certificate: count)
            let read = try SignatureBlob(bytes.span)
            #expect(read.certificate.der == [UInt8](repeating: 0xBB, count: count))
            #expect(read.certificate.offset == lengthOffset + 4)
            #expect(read.version == version && read.signature.count == version.rules.signatureByteCount)
        }
    }

    @Test(arguments: TransactionReceipt.Version.allCases)
    func `what ends before the certificate is truncated`(version: TransactionReceipt.Version) {
        let whole = blob(version, length: 0, certificate: 0)
        for count in whole.indices {
            #expect(failure(Array(whole.prefix(count))) == VerificationError(.signatureBlob(.truncated, offset: count)))
        }
    }
}
