import Foundation

// Writes what the languages have of the library's tables into their files, between two lines that say so.
//
//   generate-bindings            writes
//   generate-bindings --check    exit status 1 if a file is not as it would be written

let isCheck = CommandLine.arguments.dropFirst().contains("--check")
let bindings = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
var staleCount = 0
for (file, lines) in Region.all {
    let url = bindings.appending(path: file)
    let text = try String(contentsOf: url, encoding: .utf8)
    guard let written = Region.replace(in: text, by: lines) else {
        FileHandle.standardError.write(Data("\(file): no lines that begin and end what is generated\n".utf8))
        exit(2)
    }
    guard written != text else { continue }
    staleCount += 1
    print(isCheck ? "\(file) is not as generated: run 'swift run generate-bindings'" : "\(file) written")
    if !isCheck { try Data(written.utf8).write(to: url) }
}
print("\(Region.all.count) files, \(staleCount) \(isCheck ? "stale" : "written")")
exit(isCheck && staleCount > 0 ? 1 : 0)
