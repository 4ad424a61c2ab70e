#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Calls a target with libFuzzer's input as an array. It always returns 0, so that inputs are kept in the corpus.
public func withInput(_ start: UnsafePointer<UInt8>?, _ count: Int, _ body: ([UInt8]) -> Void) -> CInt {
    body(unsafe Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

/// Checks a condition that must be true for every input. Otherwise prints it and ends the process, so that libFuzzer
/// keeps the input.
@inline(__always)
public func check(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fail(message()) }
}

@inline(never)
func fail(_ message: String) -> Never {
    // `precondition` does not print its message in an optimized build.
    print("violated: \(message)")
    _ = fflush(nil)
    abort()
}

#if !FUZZ
/// Runs a target over the files named on the command line, and over those in the folders named there. With `--mint
/// FOLDER`, writes the target's own inputs.
public func replay(
    _ testOneInput: (UnsafePointer<UInt8>?, Int) -> CInt,
    orMint inputs: @autoclosure () -> [(name: String, bytes: [UInt8])] = []
) {
    let paths = CommandLine.arguments.dropFirst()
    if paths.count == 2, paths[1] == "--mint" { return save(inputs(), in: paths[2]) }
    guard !paths.isEmpty else {
        print("Usage: \(CommandLine.arguments.first ?? "") FILE|FOLDER…\nWith libFuzzer: see scripts/HARDENING.md.")
        exit(2)
    }
    var count = 0
    for path in paths {
        for file in files(in: path) {
            guard let bytes = contents(of: file) else {
                print("\(file): cannot be read")
                exit(2)
            }
            _ = unsafe bytes.withUnsafeBufferPointer { unsafe testOneInput($0.baseAddress, $0.count) }
            count += 1
        }
    }
    print("\(count) inputs, no finding")
}

/// Writes each input into a file of a folder, which must exist.
private func save(_ inputs: [(name: String, bytes: [UInt8])], in folder: String) {
    for input in inputs {
        guard let file = unsafe fopen(folder + "/" + input.name, "wb") else { fail("\(folder) cannot be written") }
        _ = unsafe fwrite(input.bytes, 1, input.bytes.count, file)
        _ = unsafe fclose(file)
    }
    print("\(inputs.count) inputs in \(folder)")
}

private func files(in path: String) -> [String] {
    guard let folder = unsafe opendir(path) else { return [path] }
    defer { unsafe _ = closedir(folder) }
    var names: [String] = []
    while let entry = unsafe readdir(folder) {
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
            unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
        }
        if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted().flatMap { files(in: path + "/" + $0) }
}

private func contents(of path: String) -> [UInt8]? {
    guard let file = unsafe fopen(path, "rb") else { return nil }
    defer { unsafe _ = fclose(file) }
    var bytes: [UInt8] = []
    while true {
        let chunk = unsafe [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
            unsafe count = fread(buffer.baseAddress, 1, buffer.count, file)
        }
        if chunk.isEmpty { return bytes }
        bytes += chunk
    }
}
#endif
