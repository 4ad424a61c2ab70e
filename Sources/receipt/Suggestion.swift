/// Returns the candidate that a mistyped word probably means: one that begins with it, or one that differs by a few
/// keystrokes.
func nearest(to word: String, in candidates: [String]) -> String? {
    let word = Array(word.utf8)
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
        let letters = Array(candidate.utf8)
        let allowed = max(1, letters.count / 3)
        // Checked first: a word may be as long as the system lets arguments be.
        guard abs(letters.count - word.count) <= allowed else { continue }
        let distance = editDistance(word, letters)
        if distance <= allowed, distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    if let best { return best.candidate }
    let begun = candidates.filter { $0.utf8.starts(with: word) }
    return begun.count == 1 && word.count >= 3 ? begun[0] : nil
}

/// Returns the number of letters to change, insert, remove or swap with a neighbor to make one word from another.
private func editDistance(_ first: [UInt8], _ second: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...second.count)
    for row in first.indices {
        var current = [row + 1]
        for column in second.indices {
            let isSame = first[row] == second[column]
            var distance = min(last[column] + (isSame ? 0 : 1), last[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                distance = min(distance, beforeLast[column - 1] + 1)
            }
            current.append(distance)
        }
        (beforeLast, last) = (last, current)
    }
    return last[second.count]
}
