import AppStoreReceipt
import HTTPService
@testable import LedgerService
import Testing

/// The app and the environment of a request.
@Suite struct RequestedAppTests {
    /// Expects a value, written `= value`, or a refusal that contains a text.
    private func expect(_ answer: String, _ value: () throws(RequestFault) -> String) {
        do throws(RequestFault) {
            let value = try value()
            #expect("= \(value)".utf8.elementsEqual(answer.utf8))
        } catch {
            #expect(String(decoding: error.response.body, as: UTF8.self).contains(answer))
        }
    }

    @Test(
        arguments: [
            ([.production], nil, "= production"),
            ([.sandbox], nil, "= sandbox"),
            ([.production, .sandbox], .sandbox, "= sandbox"),
            ([.production, .sandbox], nil, "'environment' is required: the server has several environments"),
            ([.production], .sandbox, "'environment' is none of the server's"),
        ] as [(Set<AppStoreEnvironment>, AppStoreEnvironment?, String)])
    func `an environment is one of the server's, and need not be named if there is one`(
        accepted: Set<AppStoreEnvironment>, asked: AppStoreEnvironment?, answer: String
    ) {
        let policy = VerificationPolicy(bundleIDs: ["com.example.app"], environments: accepted)
        expect(answer) { () throws(RequestFault) in try policy.environment(asked).rawValue }
    }

    @Test(
        arguments: [
            (["a"], nil, "= a"),
            (["a", "b"], "b", "= b"),
            (nil, "any", "= any"),
            (["a"], "b", "'bundle_id' is none of the server's"),
            (["\u{E9}"], "e\u{301}", "'bundle_id' is none of the server's"),
            (["a", "b"], nil, "'bundle_id' is required: the server has several apps"),
            (nil, nil, "'bundle_id' is required: the server has several apps"),
        ] as [(Set<String>?, String?, String)])
    func `an app is one of the server's, and need not be named if there is one`(
        accepted: Set<String>?, asked: String?, answer: String
    ) {
        let policy = VerificationPolicy(bundleIDs: accepted, environments: [.production])
        expect(answer) { () throws(RequestFault) in try policy.bundleID(asked) }
    }
}
