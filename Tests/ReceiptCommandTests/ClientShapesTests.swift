import Foundation
import TestSupport
import Testing

@testable import receipt

/// What clients send instead of evidence or around it, at the command: the cases of `TestVectors/clients`, which all languages run, too.
@Suite struct ClientShapesTests {
    private struct Shape: Decodable {
        let file: String
        let kind: String?
        let unwrapped: [String]?
        let code: String?
        let path: String?
    }

    private static let vectors = Project.url("TestVectors")

    private static func path(_ file: String) -> String { vectors.appending(path: file).path }

    private static func shapes() throws -> [Shape] {
        let file = vectors.appending(path: "clients/expectations.json")
        return try JSONDecoder().decode([Shape].self, from: Data(contentsOf: file))
    }

    private static let options =
        ["root.der", "ec-root.der", "itunes-store.der", "intermediate.der"].flatMap {
            ["--root", path("authority/\($0)")]
        } + ["--allow-rsa-1024", "--environment", "production", "--bundle-id", "com.example.app"]

    @Test func `each shape is unwrapped or named, as JSON and as text`() throws {
        let shapes = try Self.shapes()
        let files = shapes.map { Self.path($0.file) }
        let verdicts = try run(["verify", "--format", "json"] + Self.options + files).objects()
        #expect(verdicts.count == shapes.count)
        for (shape, verdict) in zip(shapes, verdicts) {
            #expect(verdict["unwrapped"] as? [String] == shape.unwrapped, "\(shape.file)")
            let error = verdict["error"] as? NSDictionary
            #expect(error?["code"] as? String == shape.code && error?["path"] as? String == shape.path)
            if let kind = shape.kind { #expect(verdict[kind] != nil, "\(shape.file)") }
        }
        for (shape, file) in zip(shapes, files) {
            let text = run(["verify"] + Self.options + [file]).output
            if let code = shape.code {
                #expect(text.contains("\n  See WhatClientsSend.md#\(code).\n"), "\(shape.file)")
            }
            if shape.code == nil, let names = shape.unwrapped {
                #expect(text.contains("  Unwrapped from"), "\(shape.file)")
                #expect(text.contains(names.joined(separator: ", ")), "\(shape.file)")
            }
        }
    }

    @Test func `with --strict-form none is accepted`() throws {
        for shape in try Self.shapes() {
            #expect(run(["verify", "--strict-form"] + Self.options + [Self.path(shape.file)]).status == 1)
        }
    }

    @Test func `decode, entitlements and batch unwrap, too`() throws {
        let file = Self.path("clients/unity.json")
        let decoded = try run("decode", "--format", "json", file).objects()[0]
        #expect(decoded["unwrapped"] as? [String] == ["unity"])
        let decision = run(["entitlements", "--format", "json"] + Self.options + [file])
        #expect(try decision.status == 0 && (decision.objects()[0]["refused"] as? [Any])?.isEmpty == true)
        let folder = try TemporaryFolder()
        let lines = try folder.write("lines.txt", Array(Data(contentsOf: URL(filePath: file))) + [0x0A])
        let line = try run(["batch"] + Self.options + [lines]).objects()[0]
        #expect(line["unwrapped"] as? [String] == ["unity"])
        #expect((line["input"] as? NSDictionary)?["Payload"] == nil)
    }
}
