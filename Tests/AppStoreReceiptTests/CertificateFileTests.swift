import StrictText
import TestSupport
import Testing

@_spi(Surfaces) @testable import AppStoreReceipt

struct CertificateFileTests {
    @Test func `a certificate that a binary file contains is not trusted`() throws {
        let certificate = try Minted.authority.root.certificate
        let pem = Array(PEMFile.text(of: certificate, label: "CERTIFICATE").utf8)
        #expect(try CertificateFile(pem).certificates.map(\.der) == [certificate])
        #expect(try CertificateFile(certificate).certificates.map(\.der) == [certificate])
        func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
        }
        #expect(throws: CertificateFileFault.self) { try CertificateFile(element(0x30, element(0x04, [0x0A] + pem))) }
    }
}
