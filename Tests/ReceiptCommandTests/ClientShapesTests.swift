import Foundation
import TestSupport
import Testing

@testable import receipt

/// What clients send instead of evidence or around it, at the command: the cases of `TestVectors/clients`, which all
/// languages run, too.
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

    @Test func `decode, entitlements and batch unwrap or name each shape, too`() throws {
        let shapes = try Self.shapes()
        let files = shapes.map { Self.path($0.file) }
        func expect(_ object: NSDictionary?, _ shape: Shape, _ door: String) {
            #expect(object?["unwrapped"] as? [String] == shape.unwrapped, "\(door): \(shape.file)")
            let code = (object?["error"] as? NSDictionary)?["code"] as? String
            #expect(object != nil && code == shape.code, "\(door): \(shape.file)")
        }
        let decoded = try run(["decode", "--format", "json"] + files).objects()
        #expect(decoded.count == shapes.count)
        for (shape, object) in zip(shapes, decoded) { expect(object, shape, "decode") }
        let decision = try run(["entitlements", "--format", "json"] + Self.options + files).objects()[0]
        let accepted = try #require(decision["accepted"] as? [NSDictionary])
        let refused = try #require(decision["refused"] as? [NSDictionary])
        #expect(accepted.count + refused.count == shapes.count)
        for (shape, file) in zip(shapes, files) {
            let pieces = shape.code == nil ? accepted : refused
            expect(pieces.first { $0["file"] as? String == file }, shape, "entitlements")
        }
        // A line is one piece.
        let folder = try TemporaryFolder()
        let texts = try files.map { try Data(contentsOf: URL(filePath: $0)) }
        let isLine = texts.map { !$0.contains(0x0A) && !$0.contains(0x0D) }
        let lines = zip(texts, isLine).filter(\.1).map { Array($0.0) + [0x0A] }
        let verdicts = try run(["batch"] + Self.options + [folder.write("lines.txt", Array(lines.joined()))]).objects()
        let ofLines = zip(shapes, isLine).filter(\.1).map(\.0)
        #expect(verdicts.count == ofLines.count && ofLines.count >= 40)
        for (shape, object) in zip(ofLines, verdicts) { expect(object, shape, "batch") }
        // What was in a wrapper is no other member.
        for (shape, object) in zip(ofLines, verdicts) where shape.unwrapped != nil {
            #expect((object["input"] as? NSDictionary)?["Payload"] == nil, "\(shape.file)")
        }
    }
}
