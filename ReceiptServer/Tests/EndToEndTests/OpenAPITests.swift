import AppStoreReceiptTesting
import Foundation
import Testing
import TrialSupport

/// `openapi.json` beside the running server: every path, method, status and body.
@Suite(.serialized) struct OpenAPITests {
    private let evidence: MintedEvidence
    private let document: OpenAPIDocument

    init() throws {
        evidence = try MintedEvidence()
        document = try OpenAPIDocument("openapi.json")
    }

    /// A status of an operation.
    private struct Place: Hashable, CustomStringConvertible {
        let path: String
        let method: String
        let status: Int

        var description: String { "\(method) \(path) \(status)" }
    }

    private var described: Set<Place> {
        var places: Set<Place> = []
        for path in document.paths {
            for method in OpenAPIDocument.methods {
                for status in document.responses(path, method).keys {
                    places.insert(Place(path: path, method: method, status: Int(status) ?? 0))
                }
            }
        }
        return places
    }

    // MARK: The server

    /// Bodies for the paths that take one, of every category.
    private func bodies(_ path: String) throws -> [[UInt8]] {
        let receipt = try evidence.receipt(purchaseCount: 2)
        let forged = try evidence.receipt(isForged: true)
        let unreadable = try JWSBuilder(payload: .raw("[]")).signed(by: evidence.ellipticAuthority)
        switch path {
        case "/v1/verify":
            return [
                receipt, forged, [], Array(unreadable.utf8), Array(MintedEvidence.body(receipt).utf8),
                Array(try evidence.transaction().utf8), try evidence.receipt(environment: .sandbox),
                try evidence.receipt(bundleID: "com.example.other"), Array(receipt.dropLast()),
            ]
        case "/v1/entitlements":
            let pieces =
                [receipt, forged].map { Data($0).base64EncodedString() } + [unreadable, try evidence.transaction()]
            return pieces.map { Array(#"{"evidence":"\#($0)","at":"2025-02-01"}"#.utf8) } + [
                Array("{}".utf8), Array(#"{"evidence":["x"]}"#.utf8),
            ]
        default:
            return [[], Array(MintedEvidence.body(receipt).utf8), Array(MintedEvidence.body(forged).utf8)]
        }
    }

    /// Sends a request and compares its answer with the document.
    private func probe(_ method: String, _ path: String, _ body: [UInt8], _ port: UInt16) throws -> Place {
        let answer = try request(method.uppercased(), path, body, port: port)
        let place = Place(path: path, method: method, status: answer.status)
        // The description says it of every answer.
        if answer.status == 503 { #expect(answer.headers["retry-after"] != nil) }
        if answer.status == 503, document.responses(path, method)["503"] == nil { return place }
        if method == "head" {
            #expect(document.responses(path, method)["\(answer.status)"] != nil, "\(place) is not described")
            return place
        }
        let type = try #require(answer.headers["content-type"])
        let value = try JSONSerialization.jsonObject(with: Data(answer.body), options: .fragmentsAllowed)
        let fault = document.fault(method, path, answer.status, type, value)
        #expect(fault == nil, "\(place): \(fault ?? "")")
        return place
    }

    @Test func `every path, method and status of the document is the server's, and no other`() throws {
        let options = evidence.trustOptions + ["--bundle-id", MintedEvidence.bundleID]
        let server = try ServerProcess(options)
        let small = try ServerProcess(options + ["--maximum-body", "8"])
        let busy = try ServerProcess(options + ["--connections", "1", "--header-time", "60"])
        let first = try Client(port: busy.port)
        try wait {
            try request("GET", "/metrics", port: busy.metricsPort).text.contains("receipt_server_connections 1\n")
        }
        var seen: Set<Place> = []
        for path in document.paths {
            for method in OpenAPIDocument.methods {
                guard document.operation(path, method) != nil else {
                    let answer = try request(method.uppercased(), path, port: server.port)
                    #expect(answer.status == 405, "\(method) \(path)")
                    let allowed = OpenAPIDocument.methods.filter { document.operation(path, $0) != nil }.map {
                        $0.uppercased()
                    }
                    let named = answer.headers["allow"]?.split(separator: ",").map {
                        $0.trimmingCharacters(in: .whitespaces)
                    }
                    #expect(named.map { Set($0) } == Set(allowed), "\(method) \(path)")
                    continue
                }
                let takesBody = document.operation(path, method)?["requestBody"] != nil
                for body in takesBody ? try bodies(path) : [[]] {
                    seen.insert(try probe(method, path, body, server.port))
                }
                if takesBody {
                    seen.insert(try probe(method, path, Array(repeating: 0x20, count: 9), small.port))
                }
                seen.insert(try probe(method, path, [], busy.port))
            }
        }
        #expect(try request("GET", "/v1", port: server.port).status == 404)
        // Only a host that cannot verify answers the last one: signed contents that cannot be read are a refusal of
        // their piece.
        let unseen = described.subtracting(seen).map(\.description).filter { $0 != "post /v1/entitlements 500" }
        #expect(unseen.isEmpty, "\(unseen.sorted())")
        withExtendedLifetime(first) {}
    }
}
