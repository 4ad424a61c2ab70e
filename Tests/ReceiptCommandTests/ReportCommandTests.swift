import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

/// `receipt report`: what the command adds to the page.
@Suite struct ReportCommandTests {
    private let folder: TemporaryFolder
    private let root: String
    private let receipt: String

    init() throws {
        folder = try TemporaryFolder()
        root = try folder.write("root.der", Minted.authority.root.certificate)
        receipt = try folder.write(
            "r.der", ReceiptBuilder(bundleID: Minted.bundleID, purchases: []).signed(by: Minted.authority))
    }

    private func path(_ name: String) -> String { folder.url.appending(path: name).path(percentEncoded: false) }
    private func page(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    @Test func `the exit status is that of the evidence, and every piece is on the page`() throws {
        #expect(run("report", "--root", root, "--out", path("a.html"), receipt).status == 0)
        #expect(run("report", "--out", path("b.html"), receipt).status == 1)
        #expect(run("report", "--root", root, "--out", path("c.html"), receipt, path("none.der")).status == 2)
        #expect(try page("c.html").contains("none.der"))
    }

    @Test func `a hyphen is standard output`() throws {
        let result = run("report", "--root", root, "--out", "-", receipt)
        #expect(
            result.status == 0 && result.output.hasPrefix("<!DOCTYPE html>") && result.output.hasSuffix("</html>\n"))
    }

    @Test func `no file is overwritten, and without one nothing is verified`() throws {
        let out = try folder.write("a.html", "mine")
        #expect(run("report", "--root", root, "--out", out, receipt).status == 2)
        #expect(try page("a.html") == "mine")
        #expect(run("report", "--root", root, receipt).errorOutput.contains("--out is needed"))
    }

    @Test func `a time zone is one of the system's list, and no path`() throws {
        for (index, name) in [
            "../../../etc/passwd", "/etc/passwd", "Asia/../Asia/Shanghai", "posixrules", "Asia", "", "tzdata.zi",
        ]
        .enumerated() {
            let result = run("report", "--root", root, "--out", path("z\(index)"), "--time-zone=\(name)", receipt)
            #expect(result.status == 2 && !FileManager.default.fileExists(atPath: path("z\(index)")), "\(name)")
        }
        guard FileManager.default.fileExists(atPath: "/usr/share/zoneinfo/tzdata.zi") else { return }
        let words = ["report", "--root", root, "--at", "2025-07-01", receipt]
        #expect(run(words + ["--time-zone", "Asia/Shanghai", "--out", path("d.html")]).status == 0)
        #expect(try page("d.html").contains("2025-07-01 08:00:00 +08:00"))
        #expect(
            run(words + ["--time-zone", "Asia/Shangai", "--out", path("e.html")]).errorOutput.contains("Asia/Shanghai"))
    }
}
