import Foundation

// Writes the parts of bindings that come from the library's tables: whole files, or parts between two marker lines.
//
//   generate-bindings            writes
//   generate-bindings --check    exit status 1 if a file is not as it would be written

let isCheck = CommandLine.arguments.dropFirst().contains("--check")
let bindings = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
var staleCount = 0
for file in GeneratedFile.all {
    let url = bindings.appending(path: file.path)
    let text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
    guard let written = file.updated(text) else {
        FileHandle.standardError.write(Data("\(file.path): no lines that begin and end what is generated\n".utf8))
        exit(2)
    }
    guard written != text else { continue }
    staleCount += 1
    print(isCheck ? "\(file.path) is not as generated: run 'swift run generate-bindings'" : "\(file.path) written")
    if !isCheck { try Data(written.utf8).write(to: url) }
}
print("\(GeneratedFile.all.count) parts, \(staleCount) \(isCheck ? "stale" : "written")")
exit(isCheck && staleCount > 0 ? 1 : 0)
