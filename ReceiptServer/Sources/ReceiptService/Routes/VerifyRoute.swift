@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import LedgerService

/// `POST /v1/verify`: evidence of any kind, as it is. The answer is the verdict's JSON, and the HTTP status that of its
/// category.
func verifyRoute(_ verifier: AppStoreVerifier) -> Route {
    Route(.only("POST"), "/v1/verify") { request in
        let evidence = try verifier.verify(request.body)
        // What is no purchase by its kind is nothing to look at.
        let nothing = evidence.nothing == .emptyInApp ? evidence.nothing : nil
        return Response(body: evidence.jsonUTF8, code: nothing?.rawValue ?? "ok")
    }
}
