import CMSTrust
import SignatureTrust
import TestSupport
import Testing

/// Our verdicts beside those of `openssl cms -verify`, which `scripts/check/generate-openssl-messages` recorded.
@Suite struct CMSOpenSSLTests {
    @Test func `there are forty messages of OpenSSL's at least, most of which are to be accepted`() {
        let verdicts = OpenSSLVectors.verdicts
        #expect(Set(verdicts.map(\.message)).count >= 40)
        #expect(verdicts.count { $0.openSSL == "ok" && $0.ours == "ok" } >= 40)
        #expect(verdicts.count { $0.openSSL != "ok" } >= 20)
    }

    @Test(arguments: OpenSSLVectors.verdicts)
    func `OpenSSL's verdict, or a stricter one by a named rule`(
        verdict: OpenSSLVectors.Verdict
    ) throws {
        let outcome = try verdict.outcome()
        #expect(outcome == verdict.ours)
        let isAccepted = verdict.ours == "ok"
        if verdict.rule == nil {
            #expect(isAccepted == (verdict.openSSL == "ok"))
        } else {
            #expect(!isAccepted && verdict.openSSL == "ok")
        }
    }
}
