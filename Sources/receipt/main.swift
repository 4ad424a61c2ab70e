import AppStoreReceipt
import Glibc
func load(_ p: String) -> [UInt8] {
    guard let f = fopen(p, "rb") else { return [] }
    defer { fclose(f) }
    var out: [UInt8] = []
    var buf = [UInt8](repeating: 0, count: 65536)
    while true { let n = fread(&buf, 1, buf.count, f); if n == 0 { break }; out += buf[..<n] }
    return out
}
let v = try ReceiptVerifier(policy: ReceiptPolicy(bundleIDs: nil, environments: [.production, .sandbox]))
for f in CommandLine.arguments.dropFirst() {
    do {
        let r = try v.verify(load(f))
        print("ok", f.split(separator: "/").last!, r.bundleID ?? "-", r.creationDate.map(String.init(describing:)) ?? "-", r.inAppPurchases.count, r.inAppPurchases.first?.productID ?? "")
    } catch { print("NO", f.split(separator: "/").last!, error.code, error.stage, error) }
}
