import AppStoreReceipt
import HTTPService
import StrictText

/// Returns the route for Apple's endpoint. The HTTP status is always 200, and `status` in the body says what is wrong,
/// including a method other than `POST` (21000).
func verifyReceiptRoute(_ path: String, _ responder: VerifyReceiptResponder) -> Route {
    Route(.any, path) { request in
        guard request.method.hasSameBytes(as: "POST") else {
            let status = VerifyReceiptStatus.unreadableRequest.rawValue
            return Response(body: Array("{\"status\":\(status)}".utf8), code: "not-post")
        }
        let answer = responder.answer(to: request.body)
        switch answer.result {
        case .success: return Response(body: answer.body)
        case .failure(let error): return Response(body: answer.body, code: error.code.rawValue)
        }
    }
}
